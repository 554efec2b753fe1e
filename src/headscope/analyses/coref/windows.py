"""Documents with mentions of entities, split into windows, with counts of scored and lost mentions."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.coref.head_words import MentionWords
from headscope.analyses.coref.mentions import FIELD, MENTION_TYPES, Mentions, mention_table, with_antecedent
from headscope.attention.model.model_source import TileSource
from headscope.corpora.annotation import MOST_NAMED, AnnotatedDocument
from headscope.encoding.document_windows import Window, WindowCounts, cut_windows
from headscope.encoding.encoder import Encoder
from headscope.encoding.max_inputs import draw_inputs
from headscope.encoding.segment import NO_WORD, Segment
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import ScanCorpus

CROSSES, NO_PIECE, NO_ANTECEDENT, AFTER_FIRST, NOT_DRAWN = (
    "crosses a window's edge",
    "head word has no piece",
    "no antecedent in its window",
    "after the first window",
    "in no window that --max-inputs lets in",
)


@dataclass
class MentionCounts:
    """Counts of the mentions scored and lost; filled while `coreference_segments` runs.

    Attributes:
        windows: counts of documents and words.
        mentions: number of mentions read.
        entities: number of entities read.
        singletons: number of entities with one mention.
        without_antecedent: mentions without an antecedent in their document: the first mention of each entity.
        counted: number of mentions that are scored, by type.
        lost: number of mentions with an antecedent that are not scored, by reason.
        unmatched: brackets that match no other; the spans that they would mark are not among the mentions.
        unmatched_named: the first `MOST_NAMED` unmatched brackets, each with its position and the problem.
    """

    windows: WindowCounts = field(default_factory=WindowCounts)
    mentions: int = 0
    entities: int = 0
    singletons: int = 0
    without_antecedent: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    unmatched: int = 0
    unmatched_named: list[str] = field(default_factory=list)


def document_mentions(document: AnnotatedDocument, *, singletons: bool = True) -> Mentions:
    """Find the head words and types of a document's mentions; positions count from the document's first word.

    Args:
        document: document with mentions.
        singletons: True if mentions of entities with one mention are candidates.
    """
    mentions = sorted(document.mentions, key=lambda mention: (mention.start, -mention.end))
    words = MentionWords(document)
    # Entities are numbered, because an array of names would hold every name at the length of the longest.
    numbers = {name: number for number, name in enumerate(sorted({m.entity for m in mentions}))}
    rows = [(m.start, m.end, words.head(m), numbers[m.entity]) for m in mentions]
    starts, ends, heads, entities = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
    types = np.array([MENTION_TYPES.index(words.type(head)) for head in heads.tolist()], dtype=np.int64)
    allowed = np.bincount(entities, minlength=len(numbers))[entities] > (0 if singletons else 1)
    return Mentions(starts, ends, heads, entities, types, allowed)


def _inside(mentions: Mentions, window: Window) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the indices of the mentions that are entirely inside a window, and True if their head word has a piece."""
    # Mentions are sorted by start, so those of a window are found without a scan of all of them.
    first, last = np.searchsorted(mentions.starts, (window.start, window.end))
    indices = np.arange(first, last)
    indices = indices[mentions.ends[indices] <= window.end]
    ids = window.segment.word_ids
    return indices, np.isin(mentions.heads[indices] - window.start, ids[ids != NO_WORD])


def coreference_segments(
    documents: Iterable[AnnotatedDocument],
    encoder: Encoder,
    *,
    max_length: int,
    first_only: bool = False,
    singletons: bool = True,
    counts: MentionCounts | None = None,
    drawn: Container[tuple[str, int]] | None = None,
) -> Iterator[Segment]:
    """Yield the windows in which a mention is scored, each with its `MentionTable` in `fields["mentions"]`.

    Args:
        documents: documents with mentions.
        encoder: wrapper of the tokenizer.
        max_length: largest number of tokens in a window.
        first_only: True for each document's first window only, as in the paper.
        singletons: True if mentions of entities with one mention are candidates.
        counts: counts of documents and mentions to fill.
        drawn: document and index of the windows to yield; all windows when None.
    """
    counts = MentionCounts() if counts is None else counts
    for document in documents:
        mentions = document_mentions(document, singletons=singletons)
        answerable = with_antecedent(mentions.heads, mentions.entities, np.ones(len(mentions), dtype=bool))
        sizes = np.bincount(mentions.entities)
        counts.mentions += len(mentions.heads)
        counts.unmatched += len(document.unmatched)
        counts.unmatched_named += map(str, document.unmatched[: MOST_NAMED - len(counts.unmatched_named)])
        counts.entities += len(sizes)
        counts.singletons += int((sizes == 1).sum())
        counts.without_antecedent += int((~answerable).sum())
        reason = np.full(len(mentions.heads), CROSSES, dtype=object)
        end = 0
        for window in cut_windows(
            document, encoder, max_length=max_length, first_only=first_only, counts=counts.windows
        ):
            inside, has_piece = _inside(mentions, window)
            indices = inside[has_piece]
            reason[inside] = NO_PIECE
            reason[indices] = NO_ANTECEDENT
            table = mention_table(mentions.select(indices, start=window.start), window.words)
            end = window.end
            if not len(table.scored):
                continue
            if drawn is not None and (document.id, window.segment.index) not in drawn:
                reason[indices[table.scored]] = NOT_DRAWN
                continue
            reason[indices[table.scored]] = ""
            counts.counted.update(MENTION_TYPES[i] for i in table.types[table.scored])
            yield replace(window.segment, fields={**window.segment.fields, FIELD: table})
        if first_only:
            reason[mentions.starts >= end] = AFTER_FIRST
        counts.lost.update(str(why) for why in reason[answerable] if why)


class MentionWindows(ScanCorpus):
    """The windows of a run's coreference corpus, cut as often as they are needed.

    Args:
        run: run with such a corpus.
        read: function that opens the stream of their tiles; by default the trained model reads them.
    """

    def __init__(self, run: ModelRun, read: Callable[[], TileSource] | None = None) -> None:
        assert run.corpora.coreference is not None
        self.run, self.corpus = run, run.corpora.coreference
        self._read = read or (lambda: run.over(self.segments(MentionCounts())))
        self._drawn: frozenset[tuple[str, int]] | None = None

    def segments(self, counts: MentionCounts, *, max_length: int | None = None) -> Iterator[Segment]:
        """Yield the windows in which a mention is scored, or a random draw of them if inputs are limited.

        Args:
            counts: counts of documents and mentions to fill.
            max_length: largest number of tokens in a window, of which all windows are yielded; the run's when None.
        """
        options = self.run.options

        def cut(counts: MentionCounts, *, drawn: Container[tuple[str, int]] | None = None) -> Iterator[Segment]:
            return coreference_segments(
                self.corpus.read(), self.run.encoder, max_length=max_length or options.max_length,
                first_only=options.windows == "first", singletons=options.singletons, counts=counts, drawn=drawn,
            )  # fmt: skip

        if options.max_inputs is None or max_length is not None:
            return cut(counts)
        if self._drawn is None:
            # The draw is made once, for the trained model and all controls.
            windows = [(segment.document, segment.index) for segment in cut(MentionCounts())]
            self._drawn = draw_inputs(windows, limit=options.max_inputs, seed=options.seed)
        return cut(counts, drawn=self._drawn)

    def source(self) -> TileSource:
        """Return the stream of tiles."""
        return self._read()

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents in a number of windows, which follows from that of words."""
        windows = max(1, self.corpus.words * 4 // (3 * self.run.options.max_length))
        return min(self.corpus.documents, self.corpus.documents * inputs // windows)

    @property
    def total(self) -> int | None:
        """Number of documents."""
        return self.corpus.documents

    @property
    def limit(self) -> int | None:
        """Largest number of windows."""
        return self.run.options.max_inputs
