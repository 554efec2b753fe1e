"""The antecedent that each head attends to for every mention, scored against the gold entities (section 4.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.coref.baselines import BASELINES, baseline_hits
from headscope.analyses.coref.mentions import FIELD, MENTION_TYPES, MentionTable
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import check_pooling
from headscope.attention.word_rows import WordRows, on_places, places_of_words
from headscope.encoding.batching import Batch
from headscope.encoding.segment import sent
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator, Span
from headscope.statistics.sums.kept import Declared, counted


@dataclass(frozen=True)
class CoreferenceSums:
    """The counts of one kind of attention.

    Attributes:
        kind: `encoder` or `decoder`.
        hits: mentions whose antecedent each head finds, `[group, layer, head, MENTION_TYPES]`.
        counts: mentions, `[group, MENTION_TYPES]`.
        baselines: mentions whose antecedent each baseline finds, `[group, BASELINES, MENTION_TYPES]`.
    """

    kind: str
    hits: NDArray[np.int32]
    counts: NDArray[np.int32]
    baselines: NDArray[np.int32]


class WordAccumulator(Accumulator):
    """Sums over attention between words, of which some rows are read; cross attention is left out.

    Args:
        layout: the kinds of attention.
        pooling: attention from a split word: `mean`, `first` or `max` (`attention.words.word_attention`).

    Raises:
        ValueError: `pooling` is not known.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "layer"
    parameters: ClassVar[tuple[str, ...]] = ("pooling",)

    def __init__(self, layout: Sequence[KindLayout], *, pooling: str = "mean") -> None:
        self.pooling = pooling
        check_pooling(pooling)
        self._rows: dict[str, tuple[WordRows, Any]] = {}
        self._layers: dict[str, list[Tensor]] = {}
        self._answers: dict[str, OnHost] = {}
        super().__init__([part for part in layout if part.kind != "cross"])

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._rows, self._layers = {}, {part.kind: [] for part in self.layout}

    def hand_over(self, copy: HostCopy) -> None:
        """Have the batch's answers copied to the host."""
        self._answers = copy.add_layers(self._layers)


class CoreferenceAccumulator(WordAccumulator):
    """Counts, for every head, the mentions whose antecedent it attends to most.

    A head is right about a mention if the candidate head word with the most attention from the mention's head word is
    the head word of a mention of its entity (`antecedents`); the leftmost wins a tie, and zero attention is wrong.
    Segments carry a `MentionTable` in `fields["mentions"]`; those without one are not counted.

    Args:
        layout, pooling: as in `WordAccumulator`.
        strict: True if a head must attend to an antecedent more than to any other word, instead of more than to the
            head words of the other candidates.
    """

    parameters: ClassVar[tuple[str, ...]] = ("pooling", "strict")

    def __init__(self, layout: Sequence[KindLayout], *, pooling: str = "mean", strict: bool = False) -> None:
        self.strict = strict
        self._tables: dict[int, MentionTable] = {}
        self._mentions: ScoredMentions | None = None
        super().__init__(layout, pooling=pooling)

    def declare(self) -> Declared:
        """Declare the counts of mentions, and of those whose antecedent each head and each baseline finds."""
        types = len(MENTION_TYPES)
        return {
            "n_mentions": counted(types),
            "n_baselines": counted(len(BASELINES), types),
            "n_hits": counted("layer", "head", types),
        }

    def begin(self, batch: Batch) -> None:
        """Collect the batch's mentions."""
        super().begin(batch)
        tables = {item: segment.fields.get(FIELD) for item, segment in enumerate(batch.segments)}
        self._tables = {item: table for item, table in tables.items() if table is not None and len(table.scored)}
        self._mentions = None
        if self._tables:
            self._mentions = ScoredMentions.of(self._tables, segments=len(batch.segments), strict=self.strict)

    def update(self, tile: AttentionTile) -> None:
        """Score the antecedents in one layer."""
        if tile.kind == "cross" or self._mentions is None:
            return
        if tile.kind not in self._rows:
            rows = WordRows.of(tile, self._mentions.wanted)
            self._rows[tile.kind] = rows, self._mentions.at_places(rows)
        rows, mentions = self._rows[tile.kind]
        # A decoder's shift may have cut off every head word.
        if rows.rows.shape[1]:
            attention = rows.attention(tile, pooling=self.pooling)
            self._layers[tile.kind].append(mentions.hits(attention))

    def end(self, batch: Batch) -> None:
        """Add the batch's answers to their documents."""
        for item, table in self._tables.items():
            types = table.scored_types.astype(np.int32)
            right = baseline_hits(batch.segments[item].words, table)
            self.sums.add(
                batch.segments[item].document,
                n_mentions=types.sum(0, dtype=np.int32),
                n_baselines=right.astype(np.int32) @ types,
                **{f"n_hits.{kind}": handle.array[item] for kind, handle in self._answers.items()},
            )
        self._mentions, self._rows = None, {}

    def compute(self) -> tuple[CoreferenceSums, ...]:
        """Return the counts by group of documents."""
        stacked = self.sums.stacked()
        numbers = stacked["n_mentions"], stacked["n_baselines"]
        return tuple(CoreferenceSums(part.kind, stacked[f"n_hits.{part.kind}"], *numbers) for part in self.layout)


# Number of weights compared at once, so that many mentions in one input do not multiply its attention in memory.
_WEIGHTS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class ScoredMentions:
    """The scored mentions of a batch, segment after segment, by word; `at_places` maps them to the selected rows.

    Attributes:
        wanted: True for words whose rows are read, `[batch, word]`.
        items: index of the segment of each mention, `[mention]`.
        heads: head word of each mention, `[mention]`; after `at_places` its index among the queries, or -1.
        types: `MENTION_TYPES` of each mention, `[mention, type]` of 0 and 1.
        allowed: True for the candidate words of each mention, `[mention, word]`, or `[mention, key index]`.
        right: True for the candidate words that are right, the same shape.
    """

    wanted: Tensor
    items: Tensor
    heads: Tensor
    types: Tensor
    allowed: Tensor
    right: Tensor

    @classmethod
    def of(cls, table_of: Mapping[int, MentionTable], *, segments: int, strict: bool) -> "ScoredMentions":
        """Concatenate the tables of some of a batch's segments, by index; `strict` allows all other words."""
        tables = list(table_of.values())
        words = max(table.candidate_words.shape[1] for table in tables)
        items = np.repeat(list(table_of), [len(table.scored) for table in tables])
        heads = np.concatenate([table.scored_heads for table in tables])
        types = np.concatenate([table.scored_types for table in tables])
        allowed, right = (np.zeros((len(items), words), dtype=bool) for _ in range(2))
        wanted = np.zeros((segments, words), dtype=bool)
        wanted[items, heads] = True
        end = 0
        for table in tables:
            start, end = end, end + len(table.scored)
            width = table.candidate_words.shape[1]
            head = heads[start:end, None]
            allowed[start:end, :width] = np.arange(width) != head if strict else table.candidate_words
            right[start:end, :width] = table.right_words
        arrays = (wanted, items.astype(np.int64), heads, types.astype(np.int64), allowed, right)
        return cls(*(torch.from_numpy(array) for array in arrays))

    def at_places(self, rows: WordRows) -> "ScoredMentions":
        """Return the same mentions by their indices among the selected queries and keys, which are on a device."""
        queries, keys, device = rows.queries.on_host, rows.keys.on_host, rows.rows.device
        return replace(
            self,
            items=sent(self.items, device),
            heads=sent(places_of_words(queries, self.wanted.shape[1])[self.items, self.heads], device),
            types=sent(self.types, device),
            allowed=sent(on_places(self.allowed, self.items, keys), device),
            right=sent(on_places(self.right, self.items, keys), device),
        )

    def hits(self, weights: Tensor) -> Tensor:
        """Count right answers, `[batch, head, type]`, in attention `[batch, head, query index, key index]`."""
        batch, heads, _, keys = weights.shape
        hits = self.types.new_zeros((batch, heads, self.types.shape[1]))
        size = max(1, _WEIGHTS_AT_ONCE // (heads * keys))
        for first in range(0, len(self.items), size):
            chunk = slice(first, first + size)
            right = self._right(weights, chunk)
            hits.index_add_(0, self.items[chunk], right[:, :, None] * self.types[chunk, None])
        return hits

    def _right(self, weights: Tensor, chunk: slice) -> Tensor:
        """Mark the heads that are right about each mention of a chunk, `[mention, head]`."""
        items, queries = self.items[chunk], self.heads[chunk]
        attention = weights[items, :, queries.clamp(min=0)]
        # Indices follow the text, and `max` takes the first of equal weights, so the leftmost candidate wins a tie.
        best, answer = attention.masked_fill(~self.allowed[chunk, None], -1.0).max(dim=2)
        right = self.right[chunk].gather(1, answer)
        # A weight of 0 is not an answer, because no candidate was visible.
        return right & (best > 0) & (queries >= 0)[:, None]
