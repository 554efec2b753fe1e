"""The stage of section 4.2: which head finds which dependency relation."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pandas as pd

from headscope.attention.scan import ScanCounts, scan
from headscope.attention.source import TileSource
from headscope.encoding.segment import Segment
from headscope.encoding.sentences import SentenceCounts, SentencePacker
from headscope.encoding.unknown import KnownPieces
from headscope.errors import InputError
from headscope.heads.arc_examples import (
    FEWEST_WORDS,
    MOST_WORDS,
    ArcExamples,
    dependency_questions,
    wanted_heads,
)
from headscope.heads.arcs import ArcTable, arcs_of_fields
from headscope.heads.dependency import DependencyAccumulator, DependencyOptions
from headscope.heads.dependency_details import distance_table, noop_table
from headscope.heads.dependency_tables import DIFFERENCE_COLUMNS, DependencyResult
from headscope.models.random_weights import with_random_weights
from headscope.statistics.confidence import FEWEST_DOCUMENTS, TOO_FEW
from headscope.study.maps_run import MapsRun
from headscope.study.model_run import ModelRun
from headscope.study.options import Progress, RunOptions, Watcher
from headscope.study.results import StageResult

_EXAMPLE_SENTENCES = 400
_USUAL_LENGTH = 32  # tokens in most sentences, for the size of batches


def measure_syntax(run: Any, watch: Watcher | None = None) -> StageResult:
    """Score every head on every relation, for the trained model and its controls, and choose examples.

    Args:
        run: a `ModelRun` with a treebank, or a `MapsRun` over maps of one.
        watch: told of progress.

    Raises:
        InputError: no sentence could be read, or the maps are not of a treebank.
    """
    began = time.perf_counter()
    options: RunOptions = run.options
    compat = options.compat == "original"
    bench = _MapsBench(run) if isinstance(run, MapsRun) else _TreebankBench(run)
    table = ArcTable.of(bench.relations, folded=options.fold_labels, compat=compat)
    how = DependencyOptions(
        pieces=options.pieces,
        special=options.special_tokens,
        both=options.both_directions,
        compat=compat,
    )

    def count(source: TileSource, stage: str) -> DependencyAccumulator:
        sums = DependencyAccumulator(run.layout, table, how)

        def tell(done: ScanCounts) -> None:
            if watch is not None:
                documents = bench.documents * done.segments // max(1, bench.sentences)
                watch(Progress(stage, documents, bench.documents, done.segments, options.limit, done.seconds))

        scan(source, [sums], progress=tell)
        if not sums.words:
            raise InputError(bench.nothing())
        return sums

    sums = count(bench.source(), "dependency heads")
    result = DependencyResult(sums, seed=options.seed)
    best = result.best()
    heads, choices, gaps = [result.heads()], [best], []
    for name, number, source in bench.controls():
        label = name if number is None else f"{name} {number + 1} of {options.controls}"
        other = DependencyResult(count(source, label), model=name, control_seed=number, seed=options.seed)
        heads.append(other.heads())
        choices.append(other.best())
        gaps.append(result.against(other))
    examples = ArcExamples(
        wanted_heads(best),
        dependency_questions(folded=options.fold_labels),
        special=bench.special,
        pieces=how.pieces,
    )
    scan(bench.example_source(), [examples])
    tables = {
        "dependency": pd.concat(heads, ignore_index=True),
        "dependency_best": pd.concat(choices, ignore_index=True),
        "dependency_differences": pd.concat(gaps or [pd.DataFrame(columns=DIFFERENCE_COLUMNS)]),
        "dependency_baselines": result.baselines(),
        "dependency_by_distance": distance_table(result, best),
        "dependency_noop": noop_table(result, best),
        "dependency_examples": examples.table(),
    }
    facts = {
        **bench.facts(),
        "folded": options.fold_labels,
        "pieces": how.pieces,
        "compat": options.compat,
        "special_kept": options.special_tokens,
        "special_changes": result.special_changes(),
    }
    return StageResult(
        name="syntax",
        tables=tables,
        facts={"treebank": facts},
        notes=(*_notes(facts), *bench.notes()),
        state=sums.state(),
        seconds=time.perf_counter() - began,
    )


class _TreebankBench:
    """A treebank, the model that reads it, and its controls."""

    def __init__(self, run: ModelRun) -> None:
        assert run.treebank is not None
        self.run, self.treebank = run, run.treebank
        self.limit = run.options.limit
        self.counts = SentenceCounts()
        self.known = KnownPieces(run.encoder, "treebank")
        self.documents, self.sentences = self.treebank.documents, self.treebank.sentences
        self.relations: Counter[str] = self.treebank.relations
        if self.limit is not None:
            self.relations, self.documents, self.sentences = Counter(), 0, 0
            for document in self.treebank.read(sentences=self.limit):
                self.documents += 1
                for sentence in document.sentences:
                    self.sentences += 1
                    self.relations.update(sentence.relations)
        if not self.relations:
            raise InputError(
                f"{self.treebank.name} has no dependency tree: expected CoNLL-U with heads, or `word head-label` "
                "lines; give another --treebank"
            )
        vocabulary = run.encoder.vocabulary
        self.special = (vocabulary.cls_name or "[CLS]", vocabulary.sep_name or "[SEP]")

    def source(self) -> TileSource:
        packer = self._packer()
        self.counts = packer.counts
        return self.run.over(self.known.watch(self._segments(packer)), length=_USUAL_LENGTH)

    def controls(self) -> Iterator[tuple[str, int | None, TileSource]]:
        """Yield each control's name, its number and its tiles; a model is made when its turn comes."""
        for seed in range(self.run.options.controls):
            model = with_random_weights(self.run.loaded.model, seed=seed)
            yield (
                "control",
                seed,
                self.run.over(self._segments(self._packer()), length=_USUAL_LENGTH, model=model),
            )
        if self.run.options.shuffled:
            yield (
                "shuffled",
                None,
                self.run.over(self._segments(self._packer(shuffle=True)), length=_USUAL_LENGTH),
            )

    def example_source(self) -> TileSource:
        """Return the tiles of short sentences, of as many documents as there are."""
        return self.run.over(_short(self._segments(self._packer())), length=_USUAL_LENGTH)

    def facts(self) -> dict[str, Any]:
        return {"name": self.treebank.name, **vars(self.counts)}

    def notes(self) -> list[str]:
        return list(filter(None, [self.known.note()]))

    def nothing(self) -> str:
        most = self.run.options.max_length
        return f"no sentence of {self.treebank.name} fits into --max-length {most} tokens; raise it"

    def _packer(self, *, shuffle: bool = False) -> SentencePacker:
        options = self.run.options
        return SentencePacker(
            self.run.encoder, max_length=options.max_length, shuffle=shuffle, seed=options.seed
        )

    def _segments(self, packer: SentencePacker) -> Iterator[Segment]:
        return packer.pack(self.treebank.read(sentences=self.limit))


class _MapsBench:
    """Saved maps of a treebank: entries with `heads` and `relns`, and no controls."""

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
            arcs_of_fields(
                entry.fields, len(entry.words), f"segment {entry.index + 1} of document {entry.document}"
            )
            self.relations.update(entry.fields["relns"])
        self.sentences = len(run.entries)
        self.documents = len({entry.document for entry in run.entries})
        special = run.signature["model"].get("special", {})
        self.special = (special.get("cls") or "[CLS]", special.get("sep") or "[SEP]")

    def source(self) -> TileSource:
        return self.run.source()

    def controls(self) -> Iterator[tuple[str, int | None, TileSource]]:
        return iter(())

    def example_source(self) -> TileSource:
        places = [
            place
            for place, entry in enumerate(self.run.entries)
            if FEWEST_WORDS <= len(entry.words) <= MOST_WORDS
        ]
        return self.run.only(places[:_EXAMPLE_SENTENCES] or [0])

    def facts(self) -> dict[str, Any]:
        words = sum(len(entry.words) for entry in self.run.entries)
        return {
            "name": "saved maps",
            "documents": self.documents,
            "sentences": self.sentences,
            "words": words,
        }

    def notes(self) -> list[str]:
        return []

    def nothing(self) -> str:
        return "the maps hold no word; extract them again from a treebank"


def _short(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Keep sentences of 6 to 20 words, at most so many; one that has few relations is no loss."""
    short = (s for s in segments if FEWEST_WORDS <= len(s.words) <= MOST_WORDS)
    return islice(short, _EXAMPLE_SENTENCES)


def _notes(facts: dict[str, Any]) -> Iterator[str]:
    for why, number in facts.get("skipped", {}).items():
        yield f"treebank: {number:,} of {number + facts['sentences']:,} sentences were left out ({why})"
    if facts.get("words_dropped") or facts.get("words_merged"):
        lost = facts["words_dropped"] + facts["words_merged"]
        yield f"treebank: {lost:,} words have no piece of their own; they count as not found"
    if facts["documents"] < FEWEST_DOCUMENTS:
        yield f"treebank: {TOO_FEW}; it has {facts['documents']}"
