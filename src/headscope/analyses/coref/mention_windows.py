"""Documents with mentions of entities, split into windows, and the counts of scored and lost mentions."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.coref.antecedents import with_antecedent
from headscope.analyses.coref.mention_rules.head_words import MentionWords
from headscope.analyses.coref.mention_table import FIELD, MENTION_TYPES, Mentions, MentionTable, mention_table
from headscope.corpora.annotation import AnnotatedDocument
from headscope.corpora.mentions.unmatched import MOST_NAMED
from headscope.encoding.encoder import Encoder
from headscope.encoding.packing.document_windows import Window, WindowCounts, cut_windows
from headscope.encoding.segment import NO_WORD, Segment

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


@dataclass(frozen=True, eq=False)
class DocumentMentions(Mentions):
    """A document's mentions, before it is split into windows; positions count from the document's first word.

    Attributes:
        answerable: True for mentions with an antecedent in the document, `[mention]`.
    """

    answerable: NDArray[np.bool_]

    @classmethod
    def of(cls, document: AnnotatedDocument, *, singletons: bool = True) -> "DocumentMentions":
        """Find the mentions' head words and types.

        Args:
            document: document with mentions.
            singletons: True if mentions of entities with one mention are candidates.
        """
        mentions = sorted(document.mentions, key=lambda mention: (mention.start, -mention.end))
        words = MentionWords(document)
        heads = np.array([words.head(m) for m in mentions], dtype=np.int64)
        types = [MENTION_TYPES.index(words.type(head)) for head in heads.tolist()]
        # Entities are numbered, because an array of names would hold every name at the length of the longest.
        numbers = {name: number for number, name in enumerate(sorted({m.entity for m in mentions}))}
        entities = np.array([numbers[m.entity] for m in mentions], dtype=np.int64)
        sizes = np.bincount(entities, minlength=len(numbers))
        allowed = np.ones(len(mentions), dtype=bool) if singletons else sizes[entities] > 1
        return cls(
            starts=np.array([m.start for m in mentions], dtype=np.int64),
            ends=np.array([m.end for m in mentions], dtype=np.int64),
            heads=heads,
            entities=entities,
            types=np.array(types, dtype=np.int64),
            allowed=allowed,
            answerable=with_antecedent(heads, entities, np.ones(len(mentions), dtype=bool)),
        )

    def inside(self, window: Window) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the mentions that are entirely inside a window, and whether their head word has a piece in it.

        Args:
            window: window of the document.

        Returns:
            Indices among the document's mentions, and for each True if its head word has a piece, `[inside]`.
        """
        # Mentions are sorted by start, so those of a window are found without a scan of all of them.
        first, last = np.searchsorted(self.starts, (window.start, window.end))
        indices = np.arange(first, last)
        indices = indices[self.ends[indices] <= window.end]
        ids = window.segment.word_ids
        with_pieces = window.start + np.unique(ids[ids != NO_WORD])
        return indices, np.isin(self.heads[indices], with_pieces)

    def table(self, window: Window, indices: NDArray[np.int64]) -> MentionTable:
        """Return some of a window's mentions, selected by their indices among the document's mentions."""
        return mention_table(
            starts=self.starts[indices] - window.start,
            ends=self.ends[indices] - window.start,
            heads=self.heads[indices] - window.start,
            entities=self.entities[indices],
            types=self.types[indices],
            words=window.words,
            allowed=self.allowed[indices],
        )


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
        mentions = DocumentMentions.of(document, singletons=singletons)
        sizes = np.bincount(mentions.entities)
        counts.mentions += len(mentions.heads)
        counts.unmatched += len(document.unmatched)
        counts.unmatched_named += map(str, document.unmatched[: MOST_NAMED - len(counts.unmatched_named)])
        counts.entities += len(sizes)
        counts.singletons += int((sizes == 1).sum())
        counts.without_antecedent += int((~mentions.answerable).sum())
        reason = np.full(len(mentions.heads), CROSSES, dtype=object)
        end = 0
        for window in cut_windows(
            document, encoder, max_length=max_length, first_only=first_only, counts=counts.windows
        ):
            inside, has_piece = mentions.inside(window)
            indices = inside[has_piece]
            reason[inside] = NO_PIECE
            reason[indices] = NO_ANTECEDENT
            table = mentions.table(window, indices)
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
        counts.lost.update(str(why) for why in reason[mentions.answerable] if why)
