"""Documents with mentions of entities cut into windows, and what becomes of each mention."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from headscope.corpora.annotation import AnnotatedDocument, Mention
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.windows import Window, WindowCounts, cut_windows
from headscope.heads.antecedents import mention_order
from headscope.heads.head_words import head_word, mention_type
from headscope.heads.mention_table import FIELD, MENTION_TYPES, MentionTable, mention_table

CROSSES, NO_PIECE, NO_ANTECEDENT, AFTER_FIRST = (
    "crosses a window's edge",
    "head word has no piece",
    "no antecedent in its window",
    "after the first window",
)

HeadWord = Callable[[AnnotatedDocument, Mention], int]
TypeOf = Callable[[AnnotatedDocument, Mention, int], str]


@dataclass
class MentionCounts:
    """What became of the mentions; filled while `coreference_segments` runs.

    Attributes:
        windows: what became of documents and words.
        mentions: mentions read.
        entities: entities read.
        singletons: entities with one mention.
        without_antecedent: mentions that have none in their document (the first of each entity), so that there is
            nothing to find.
        counted: mentions that are scored, by type.
        lost: mentions with an antecedent that are not scored, by reason.
    """

    windows: WindowCounts = field(default_factory=WindowCounts)
    mentions: int = 0
    entities: int = 0
    singletons: int = 0
    without_antecedent: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, eq=False)
class DocumentMentions:
    """A document's mentions in order, before windows are cut.

    Attributes:
        starts, ends, heads, entities, types: as in `MentionTable`, positions in the document.
        allowed: which may be candidates.
        answerable: which have an antecedent in the document.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    heads: NDArray[np.int64]
    entities: NDArray[np.int64]
    types: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    answerable: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        document: AnnotatedDocument,
        *,
        singletons: bool = True,
        find_head: HeadWord = head_word,
        find_type: TypeOf = mention_type,
    ) -> "DocumentMentions":
        """Find the mentions' head words and types.

        Args:
            document: with mentions.
            singletons: whether mentions of entities with one mention are candidates.
            find_head: gives the position of a mention's head word in the document.
            find_type: gives its type, one of `MENTION_TYPES` but `all`.
        """
        mentions = document.mentions
        starts = np.array([m.start for m in mentions], dtype=np.int64)
        ends = np.array([m.end for m in mentions], dtype=np.int64)
        order = mention_order(starts, ends)
        mentions = tuple(mentions[i] for i in order)
        heads = np.array([find_head(document, m) for m in mentions], dtype=np.int64)
        types = np.array(
            [MENTION_TYPES.index(find_type(document, m, int(h))) for m, h in zip(mentions, heads)],
            dtype=np.int64,
        )
        _, entities, sizes = np.unique(
            np.array([m.entity for m in mentions], dtype=str), return_inverse=True, return_counts=True
        )
        allowed = np.ones(len(mentions), dtype=bool) if singletons else sizes[entities] > 1
        return cls(
            starts=starts[order],
            ends=ends[order],
            heads=heads,
            entities=entities.astype(np.int64).reshape(-1),
            types=types,
            allowed=allowed,
            answerable=_answerable(heads, entities.reshape(-1)),
        )

    def inside(self, window: Window) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say which mentions lie whole inside a window, and whose head word has a piece in it, `[mention]`."""
        inside = (self.starts >= window.start) & (self.ends <= window.end)
        own = window.segment.word_ids
        with_pieces = window.start + np.unique(own[own != NO_WORD])
        return inside, np.isin(self.heads, with_pieces)

    def table(self, window: Window) -> tuple[MentionTable, NDArray[np.int64]]:
        """Return a window's mentions, and their places among the document's."""
        inside, has_piece = self.inside(window)
        own = np.flatnonzero(inside & has_piece)
        made = mention_table(
            starts=self.starts[own] - window.start,
            ends=self.ends[own] - window.start,
            heads=self.heads[own] - window.start,
            entities=self.entities[own],
            types=self.types[own],
            words=window.words,
            allowed=self.allowed[own],
        )
        return made, own


def _answerable(heads: NDArray[np.int64], entities: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which mentions have a candidate of their entity, entity by entity: documents may have many mentions."""
    found = np.zeros(len(heads), dtype=bool)
    leftmost: dict[int, int] = {}
    for place, (head, entity) in enumerate(zip(heads.tolist(), entities.tolist())):
        found[place] = leftmost.get(entity, head) < head
        leftmost[entity] = min(leftmost.get(entity, head), head)
    return found


def coreference_segments(
    documents: Iterable[AnnotatedDocument],
    encoder: Encoder,
    *,
    max_length: int,
    first_only: bool = False,
    singletons: bool = True,
    counts: MentionCounts | None = None,
) -> Iterator[Segment]:
    """Yield the windows in which a mention counts, each with its `MentionTable` in `fields["mentions"]`.

    Args:
        documents: with mentions.
        encoder: the tokeniser's wrap.
        max_length: tokens in a window at most.
        first_only: each document's first window only, as the paper takes.
        singletons: whether mentions of entities with one mention are candidates.
        counts: told what became of documents and mentions.
    """
    counts = MentionCounts() if counts is None else counts
    for document in documents:
        mentions = DocumentMentions.of(document, singletons=singletons)
        sizes = np.bincount(mentions.entities) if len(mentions.entities) else np.zeros(0, dtype=np.int64)
        counts.mentions += len(mentions.heads)
        counts.entities += len(sizes)
        counts.singletons += int((sizes == 1).sum())
        counts.without_antecedent += int((~mentions.answerable).sum())
        reason = np.full(len(mentions.heads), CROSSES, dtype=object)
        end = 0
        for window in cut_windows(
            document, encoder, max_length=max_length, first_only=first_only, counts=counts.windows
        ):
            inside, has_piece = mentions.inside(window)
            reason[inside] = NO_PIECE
            reason[inside & has_piece] = NO_ANTECEDENT
            table, own = mentions.table(window)
            end = window.end
            if not len(table.asked):
                continue
            reason[own[table.asked]] = ""
            counts.counted.update(MENTION_TYPES[i] for i in table.types[table.asked])
            yield replace(window.segment, fields={**window.segment.fields, FIELD: table})
        if first_only:
            reason[mentions.starts >= end] = AFTER_FIRST
        counts.lost.update(str(why) for why in reason[mentions.answerable] if why)
