"""The antecedent that each head attends to for every mention, scored against the gold entities (section 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.coref.baselines import BASELINES, baseline_hits
from headscope.analyses.coref.mention_table import FIELD, MENTION_TYPES, MentionTable
from headscope.analyses.coref.scored_mentions import ScoredMentions
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.tile import AttentionTile
from headscope.attention.words.word_attention import check_pooling
from headscope.attention.words.word_rows import WordRows
from headscope.encoding.batching import Batch
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


class CoreferenceAccumulator(Accumulator):
    """Counts, for every head, the mentions whose antecedent it attends to most.

    A head is right about a mention if the candidate head word with the most attention from the mention's head word is
    the head word of a mention of its entity (`antecedents`); the leftmost wins a tie, and zero attention is wrong.
    Segments carry a `MentionTable` in `fields["mentions"]`; those without one are not counted.

    Args:
        layout: the kinds of attention; cross attention is left out.
        pooling: attention from a split word: `mean`, `first` or `max` (`attention.words.word_attention`).
        strict: True if a head must attend to an antecedent more than to any other word, instead of more than to the
            head words of the other candidates.

    Raises:
        ValueError: `pooling` is not known.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "layer"
    parameters: ClassVar[tuple[str, ...]] = ("pooling", "strict")

    def __init__(self, layout: Sequence[KindLayout], *, pooling: str = "mean", strict: bool = False) -> None:
        self.pooling, self.strict = pooling, strict
        check_pooling(pooling)
        self._tables: list[MentionTable | None] = []
        self._mentions: ScoredMentions | None = None
        self._rows: dict[str, tuple[WordRows, ScoredMentions]] = {}
        self._layer_hits: dict[str, list[Tensor]] = {}
        self._hits: dict[str, OnHost] = {}
        super().__init__([part for part in layout if part.kind != "cross"])

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
        self._tables = [segment.fields.get(FIELD) for segment in batch.segments]
        tables = [table for table in self._tables if table is not None and len(table.scored)]
        self._mentions = ScoredMentions.of(self._tables, strict=self.strict) if tables else None
        self._rows = {}
        self._layer_hits = {part.kind: [] for part in self.layout}

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
            self._layer_hits[tile.kind].append(mentions.hits(attention))

    def hand_over(self, copy: HostCopy) -> None:
        """Have the batch's answers copied to the host."""
        self._hits = copy.add_layers(self._layer_hits)

    def end(self, batch: Batch) -> None:
        """Add the batch's answers to their documents."""
        hits_by_kind = {kind: handle.array for kind, handle in self._hits.items()}
        for item, (segment, table) in enumerate(zip(batch.segments, self._tables)):
            if table is None or not len(table.scored):
                continue
            types = table.scored_types.astype(np.int32)
            right = baseline_hits(segment.words, table)
            self.sums.add(
                segment.document,
                n_mentions=types.sum(0, dtype=np.int32),
                n_baselines=right.astype(np.int32) @ types,
                **{f"n_hits.{kind}": hits[item] for kind, hits in hits_by_kind.items()},
            )
        self._mentions, self._rows, self._layer_hits, self._hits = None, {}, {}, {}

    def compute(self) -> tuple[CoreferenceSums, ...]:
        """Return the counts by group of documents."""
        stacked = self.sums.stacked()
        return tuple(
            CoreferenceSums(
                kind=part.kind,
                hits=stacked[f"n_hits.{part.kind}"],
                counts=stacked["n_mentions"],
                baselines=stacked["n_baselines"],
            )
            for part in self.layout
        )
