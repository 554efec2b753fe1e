"""The data of the probes: two treebanks, and the cached attention of any model over them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.probes.map_cache import MapCache, TableWriter, WordMaps
from headscope.analyses.probes.probe_data import SPECIAL, ProbeData, WordMapCollector, bytes_of, heads_of
from headscope.analyses.probes.tree_sentences import (
    TreeSentence,
    WordTable,
    control_targets,
    kinds_of,
    numbered,
    tree_sentences,
)
from headscope.analyses.probes.word_vectors import WordVectors, input_embeddings, read_vectors
from headscope.attention.scan import ScanCounts
from headscope.encoding.segment import Segment
from headscope.encoding.sentence_packing import SentencePacker
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.scans.passes import collect
from headscope.scans.prepare.annotated import AnnotatedCorpus
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.prepare.run_corpora import shared_files
from headscope.storage.sealed import signature_id

USUAL_LENGTH = 32  # tokens in most sentences, used to choose batch sizes
Teller = Callable[[str, int, int], None]


class ProbeTreebank:
    """A treebank in memory: its sentences, and the inputs that the model reads.

    Args:
        run: the run of the model.
        corpus: the treebank.

    Attributes:
        name: name for messages and pages.
        sentences: the sentences with a tree, in order.
        segments: the inputs; a sentence over the length limit has none.
        numbers: indices of the sentences that have an input, `[segment]`, ascending.

    Raises:
        InputError: no sentence has a tree, or none fits.
    """

    def __init__(self, run: ModelRun, corpus: AnnotatedCorpus) -> None:
        options = run.options
        # Documents are sorted, because probes learn from one batch after another.
        documents = sorted(
            corpus.read(sentences=options.max_inputs, seed=options.seed), key=lambda document: document.id
        )
        self.name, self.hash = corpus.name, corpus.hash
        self.sentences: list[TreeSentence] = tree_sentences(documents, folded=options.fold_labels)
        if not self.sentences:
            raise InputError(
                f"{self.name} has no dependency tree: expected CoNLL-U with heads, or `word head-label` lines; give "
                "another treebank"
            )
        self.index_of = {sentence.key: number for number, sentence in enumerate(self.sentences)}
        packer = SentencePacker(run.encoder, max_length=options.max_length)
        self.known = KnownPieces(run.encoder, "treebank")
        self.segments: list[Segment] = [
            segment
            for segment in self.known.watch(packer.pack(documents))
            if (segment.document, segment.index) in self.index_of
        ]
        if not self.segments:
            raise InputError(f"no sentence of {self.name} fits into --max-length {options.max_length} tokens; raise it")
        self.numbers: NDArray[np.int64] = np.sort(
            np.array([self.index_of[segment.document, segment.index] for segment in self.segments])
        )

    @property
    def read(self) -> list[TreeSentence]:
        """Return the sentences that have an input."""
        return [self.sentences[number] for number in self.numbers.tolist()]


class ProbeBench:
    """Two treebanks and the attention of any model over them.

    Args:
        run: a run with `treebank_train` and `treebank`.
        cache: cache for attention on disk.
        tell: callback with the label, the number of sentences done, and their total.

    Attributes:
        train, dev: the treebanks.
        shared: names of the files of each treebank that hold the same sentences.
        vectors: vectors of all words of both treebanks.
        labels: the relations in train.
    """

    def __init__(self, run: ModelRun, cache: MapCache, tell: Teller) -> None:
        if run.corpora.treebank_train is None or run.corpora.treebank is None:
            raise InputError(
                "probes need trees to be trained on beside those they are measured on; give --treebank-train too, "
                "such as ud:en_ewt/train"
            )
        self.run, self.cache, self.tell = run, cache, tell
        self.train = ProbeTreebank(run, run.corpora.treebank_train)
        self.dev = ProbeTreebank(run, run.corpora.treebank)
        self.shared = shared_files(run.corpora.treebank_train.files, run.corpora.treebank.files)
        self.heads = heads_of(run.layout)
        self.vectors = WordTable.of(self._vectors(), self.train.sentences, self.dev.sentences)
        self.labels = kinds_of(self.train.sentences, relations=True)
        sizes = {self._key(bank): bytes_of(map(len, bank.read), len(self.heads)) for bank in (self.train, self.dev)}
        # The cache holds the tables of one control at a time besides those of the trained model.
        cache.reserve({**sizes, "control": sum(sizes.values())}, what=f"{self.train.name} and {self.dev.name}")

    def data(self, bank: ProbeTreebank, maps: WordMaps | None) -> ProbeData:
        """Return a treebank in the form that probes read: task 0 is its trees, task 1 the control task."""
        seed = self.run.options.seed
        control = [control_targets(sentence.words, seed=seed) + 1 for sentence in bank.sentences]
        return ProbeData(
            words=numbered(bank.sentences, self.vectors.words),
            targets=[[sentence.heads for sentence in bank.sentences], control],
            labels=numbered(bank.sentences, self.labels, relations=True),
            maps=maps,
            numbers=bank.numbers,
        )

    def trained(self) -> tuple[WordMaps, WordMaps]:
        """Return the attention of the run's model over train and dev, computed now or cached."""
        train, dev = (
            self.cache.get_or_make(self._key(bank), self._writer(bank, f"attention over {what}"))
            for bank, what in ((self.train, "train"), (self.dev, "dev"))
        )
        return train, dev

    @contextmanager
    def control(self, number: int) -> Iterator[tuple[WordMaps, WordMaps]]:
        """Yield the attention of the model with random weights but its own embeddings; it is removed afterwards."""
        seed = self.run.options.seed + number
        what = f"attention of random weights {number + 1} of {self.run.options.seeds} over"
        with (
            self.cache.passing(self._writer(self.train, f"{what} train", control=seed)) as train,
            self.cache.passing(self._writer(self.dev, f"{what} dev", control=seed)) as dev,
        ):
            yield train, dev

    def _vectors(self) -> WordVectors:
        words = {word for bank in (self.train, self.dev) for s in bank.sentences for word in s.words}
        path = self.run.options.vectors
        if path is None:
            return input_embeddings(self.run.loaded, self.run.encoder)
        return read_vectors(path, words, sha256=self.run.options.vectors_hash)

    def _writer(self, bank: ProbeTreebank, what: str, *, control: int | None = None) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            def empty() -> WordMapCollector:
                writer = TableWriter(path, heads=len(self.heads))
                return WordMapCollector(writer, self.run.layout, bank.index_of, pooling=self.run.options.pooling)

            def say(done: ScanCounts) -> None:
                self.tell(what, done.segments, len(bank.segments))

            collector = collect(
                lambda: self.run.over(bank.segments, length=USUAL_LENGTH, control=control), empty, progress=say
            )
            collector.writer.close()

        return write

    def _key(self, bank: ProbeTreebank) -> str:
        """Return the cache key of a treebank: everything on which the attention over it depends."""
        signature, options = self.run.signature, self.run.options
        model = {name: signature["model"].get(name) for name in ("weights", "configuration", "family")}
        shaping = {n: getattr(options, n) for n in ("max_length", "token_types", "dtype", "max_inputs")}
        facts = {"model": model, "tokenizer": signature["tokenizer"], "treebank": bank.hash, **shaping}
        return signature_id({**facts, "pooling": options.pooling, "special": SPECIAL})
