"""The sentences with trees of a run: a treebank read by a model, or saved maps of a treebank."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from headscope.attention.model.model_source import TileSource
from headscope.encoding.segment import Segment
from headscope.encoding.sentence_packing import SentenceCounts, SentencePacker, arcs_of_fields
from headscope.encoding.tokenizer.token_names import named_special
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.scans.examples.arc_examples import FEWEST_WORDS, MOST_WORDS
from headscope.scans.examples.example_tables import example_inputs
from headscope.scans.prepare.drawn_inputs import SegmentCache
from headscope.scans.prepare.maps_run import MapsRun
from headscope.scans.prepare.prepared_run import ModelRun, Run
from headscope.scans.scan_declaration import ScanCorpus
from headscope.statistics.sums.control_documents import ControlDocuments

_USUAL_LENGTH = 32  # tokens of a typical sentence, for the batch size


class TreebankTrees:
    """A treebank, the model that reads it, and its controls.

    Attributes:
        control_documents: documents that controls read.
        relations: count of each label.
        documents, sentences: number of each.
        special: names of the special tokens before and after the words.
    """

    def __init__(self, run: ModelRun) -> None:
        assert run.corpora.treebank is not None
        self.run, self.treebank = run, run.corpora.treebank
        self.max_inputs = run.options.max_inputs
        self.counts = SentenceCounts()
        self.known = KnownPieces(run.encoder, "treebank")
        self._cache = SegmentCache()
        self.documents, self.sentences = self.treebank.documents, self.treebank.sentences
        self.relations: Counter[str] = self.treebank.relations
        if self.max_inputs is not None:
            self.relations, self.documents, self.sentences = Counter(), 0, 0
            for document in self.treebank.read(sentences=self.max_inputs, seed=run.options.seed):
                self.documents += 1
                for sentence in document.sentences:
                    self.sentences += 1
                    self.relations.update(sentence.relations)
        if not self.relations:
            raise InputError(
                f"{self.treebank.name} has no dependency tree: expected CoNLL-U with heads, or `word head-label` "
                "lines; give another --treebank"
            )
        self.special = run.encoder.vocabulary.special_names
        self.control_documents = ControlDocuments(self.documents)

    def source(self) -> TileSource:
        """Return the stream of tiles over all sentences."""
        packer = self._packer()
        self.counts = packer.counts
        segments = self._cache.watch(self.known.watch(self._segments(packer)))
        return self.run.over(segments, length=_USUAL_LENGTH)

    def controls(self) -> Iterator[tuple[str, int | None, Callable[[], TileSource]]]:
        """Yield each control's name, its number, and a function that opens the stream of its tiles."""
        for seed in range(self.run.controls):
            yield "control", seed, partial(self._control, seed)
        if self.run.options.shuffled:
            yield "shuffled", None, self._shuffled

    def _control(self, seed: int) -> TileSource:
        segments = self.control_documents.segments(self._again())
        return self.run.over(segments, length=_USUAL_LENGTH, control=seed)

    def _shuffled(self) -> TileSource:
        segments = self.control_documents.segments(self._segments(self._packer(shuffle=True)))
        return self.run.over(segments, length=_USUAL_LENGTH)

    def example_source(self) -> TileSource:
        """Return the tiles of the first short sentences, at most `example_inputs` of them."""
        short = (s for s in self._again() if FEWEST_WORDS <= len(s.words) <= MOST_WORDS)
        return self.run.over(islice(short, example_inputs(self.sentences)), length=_USUAL_LENGTH)

    def facts(self) -> dict[str, Any]:
        """Return facts on the trees for the manifest."""
        return {"name": self.treebank.name, **vars(self.counts)}

    def notes(self) -> list[str]:
        """Return notes on the reading for the user."""
        return list(filter(None, [self.known.note()]))

    def nothing(self) -> str:
        """Return the error message for the case that no word could be read."""
        most = self.run.options.max_length
        return f"no sentence of {self.treebank.name} fits into --max-length {most} tokens; raise it"

    def _again(self) -> Iterator[Segment]:
        """Yield the inputs that the trained model reads."""
        return self._cache.again(lambda: self._segments(self._packer()))

    def _packer(self, *, shuffle: bool = False) -> SentencePacker:
        options = self.run.options
        return SentencePacker(self.run.encoder, max_length=options.max_length, shuffle=shuffle, seed=options.seed)

    def _segments(self, packer: SentencePacker) -> Iterator[Segment]:
        return packer.pack(self.treebank.read(sentences=self.max_inputs, seed=self.run.options.seed))


class MapsTrees:
    """Saved maps of a treebank: entries with `heads` and `relns`, and no controls; attributes as `TreebankTrees`."""

    def __init__(self, run: MapsRun) -> None:
        self.run = run
        lacking = next((e for e in run.entries if not {"heads", "relns"} <= set(e.fields)), None)
        if lacking is not None:
            raise InputError(
                f"segment {lacking.index + 1} of document {lacking.document} of these maps has no tree: expected "
                "the fields heads and relns; extract the maps from a treebank's JSON (headscope convert makes it)"
            )
        self.relations: Counter[str] = Counter()
        for entry in run.entries:
            arcs_of_fields(entry.fields, len(entry.words), f"segment {entry.index + 1} of document {entry.document}")
            self.relations.update(entry.fields["relns"])
        self.sentences = len(run.entries)
        self.documents = len({entry.document for entry in run.entries})
        special = run.signature["model"].get("special", {})
        self.special = named_special(special.get("cls"), special.get("sep"))
        self.control_documents = ControlDocuments(self.documents)

    def source(self) -> TileSource:
        """Return the stream of tiles over all sentences."""
        return self.run.source()

    def controls(self) -> Iterator[tuple[str, int | None, Callable[[], TileSource]]]:
        """Return an empty iterator, because maps have no controls."""
        return iter(())

    def example_source(self) -> TileSource:
        """Return the tiles of short sentences."""
        entries = enumerate(self.run.entries)
        short = [index for index, entry in entries if FEWEST_WORDS <= len(entry.words) <= MOST_WORDS]
        return self.run.only(short[: example_inputs(self.sentences)] or [0])

    def facts(self) -> dict[str, Any]:
        """Return facts on the trees for the manifest."""
        words = sum(len(entry.words) for entry in self.run.entries)
        return {"name": "saved maps", "documents": self.documents, "sentences": self.sentences, "words": words}

    def notes(self) -> list[str]:
        """Return notes on the reading for the user."""
        return []

    def nothing(self) -> str:
        """Return the error message for the case that no word could be read."""
        return "the maps hold no word; extract them again from a treebank"


Trees = TreebankTrees | MapsTrees
"""Sentences with trees, ready to be scanned."""


@dataclass(frozen=True)
class TreesCorpus(ScanCorpus):
    """Sentences with trees as the corpus of a scan.

    Attributes:
        run: run that the sentences belong to.
        trees: sentences with trees.
        read: function that opens the stream of their tiles: `trees.source`, or that of a control.
    """

    run: Run
    trees: Trees
    read: Callable[[], TileSource]

    def source(self) -> TileSource:
        """Return the stream of tiles."""
        return self.read()

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents that a number of sentences covers."""
        return self.trees.documents * inputs // max(1, self.trees.sentences)

    @property
    def total(self) -> int:
        """The number of documents."""
        return self.trees.documents

    @property
    def limit(self) -> int | None:
        """The maximum number of sentences."""
        return self.run.options.max_inputs


def trees_of(run: Run) -> Trees:
    """Return the sentences with trees of a run.

    Raises:
        InputError: the treebank has no tree, or the maps are not of a treebank.
    """
    return MapsTrees(run) if isinstance(run, MapsRun) else TreebankTrees(run)
