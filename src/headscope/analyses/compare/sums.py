"""Sums of the Jensen-Shannon divergence between the heads of two models that read the same text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.compare.divergence import in_order, of_all_pairs
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.model.pair_source import SECOND
from headscope.attention.stack import SEGMENT_LIMIT, RowDraw, RowStack
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator, Span
from headscope.statistics.sums.groups import GROUPS
from headscope.statistics.sums.kept import Declared, Kept, Store, counted, summed

COMPARED = 1 << 24
"""Maximum number of weights of a segment at which pairs of heads are compared, if `FEWEST_ROWS` rows remain."""
FEWEST_ROWS = 2
PAIR_GROUPS = 32
"""Number of groups of documents if all pairs of heads are compared, because each group has a sum per pair."""


@dataclass(frozen=True, kw_only=True)
class ChangeSums:
    """Divergences between heads of two models, summed over rows, by group of documents.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        first: layers and heads of the first model.
        second: layers and heads of the second model.
        sums: sum over rows, in nats: `[group, layer, head]` of heads in order, or `[group, first, second]` of all
            pairs, heads layer by layer.
        rows: number of rows that were read, by group, `[group]`.
    """

    kind: str
    first: KindLayout
    second: KindLayout
    sums: NDArray[np.float64]
    rows: NDArray[Any]


class ChangeAccumulator(Accumulator):
    """Sum the divergence between heads of two models over the rows of all segments, by group of documents.

    Tiles come from a `PairSource`. Kinds of attention that only one model has are ignored.

    Args:
        layout: kinds of attention of both models (`joint_layout`).
        seed: seed of the sample of rows.
        every_pair: True compares each head with all heads of the other model, on a sample of rows; False compares
            heads in order, on all rows.
        limit: largest size in bytes of a segment's weights of one kind; beyond it rows are sampled.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "stack"
    parameters: ClassVar[tuple[str, ...]] = ("seed", "every_pair", "limit")
    version: ClassVar[int] = 1
    merges: ClassVar[str] = "; merge scans of the same two models only"

    def __init__(
        self, layout: Sequence[KindLayout], *, seed: int = 0, every_pair: bool = False, limit: int = SEGMENT_LIMIT
    ) -> None:
        self.seed, self.every_pair, self.limit = seed, every_pair, limit
        self.groups = PAIR_GROUPS if every_pair else GROUPS
        self.pairs = pairs_of_kinds(layout)
        larger = {first.kind: max(first, second, key=_heads) for first, second in self.pairs}
        # The same number of rows is drawn for both models.
        even = tuple(replace(larger[_kind(part)], kind=part.kind) for part in layout if _kind(part) in larger)
        self.draw = (_Draw if every_pair else RowDraw)(even, seed=seed, limit=limit)
        self._stack = RowStack(self.draw)
        self._compared: list[tuple[str, int, int, OnHost]] = []
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare sums over rows, by group of documents and head or pair of heads, and the number of rows."""
        kept: dict[str, Kept | Store] = {}
        for first, second in self.pairs:
            axes = (_heads(first), _heads(second)) if self.every_pair else (first.layers, first.heads)
            kept |= {f"change_{first.kind}": summed(*axes), f"rows_{first.kind}": counted()}
        return kept

    @property
    def held_bytes(self) -> int:
        """Bytes of the batch's weights in memory now."""
        return self._stack.held_bytes

    def bytes_of(self, tokens: int) -> int:
        """Estimate the bytes in memory for a segment with this number of tokens."""
        return self.draw.bytes_of(tokens)

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        super().begin(batch)
        self._stack = RowStack(self.draw)

    def update(self, tile: AttentionTile) -> None:
        """Keep the rows of a tile until the batch ends."""
        if any(tile.kind == part.kind for part in self.draw.layout):
            self._stack.add(tile)

    def hand_over(self, copy: HostCopy) -> None:
        """Compare the heads of every segment, and free the weights."""
        super().hand_over(copy)
        stacks = {(stack.kind, stack.item): torch.cat(list(stack.layers)) for stack in self._stack.stacks()}
        compare = of_all_pairs if self.every_pair else in_order
        self._compared = [
            (kind, item, weights.shape[1], copy.add(compare(weights, stacks[SECOND + kind, item])))
            for (kind, item), weights in stacks.items()
            if not kind.startswith(SECOND)
        ]
        self._stack = RowStack(self.draw)

    def end(self, batch: Batch) -> None:
        """Add the sums of the batch to those of its documents."""
        for kind, item, rows, handle in self._compared:
            name = f"change_{kind}"
            sums = handle.array.reshape(self._kept[name].shape)
            self.sums.add(batch.info.documents[item], **{name: sums, f"rows_{kind}": np.array(rows)})
        self._compared = []

    def compute(self) -> tuple[ChangeSums, ...]:
        """Return the sums of each kind of attention that both models have."""
        stacked = self.sums.stacked()
        return tuple(
            ChangeSums(
                kind=first.kind,
                first=first,
                second=second,
                sums=stacked[f"change_{first.kind}"],
                rows=stacked[f"rows_{first.kind}"],
            )
            for first, second in self.pairs
        )


def pairs_of_kinds(layout: Sequence[KindLayout]) -> list[tuple[KindLayout, KindLayout]]:
    """Return the kinds of attention that both models have, of the first model and of the second.

    A decoder may be compared with an encoder if each model has only one kind: rows are then compared over the keys
    that the decoder's row sees.
    """
    first = {part.kind: part for part in layout if not part.kind.startswith(SECOND)}
    second = {part.kind.removeprefix(SECOND): part for part in layout if part.kind.startswith(SECOND)}
    return [(part, second[kind]) for kind, part in first.items() if kind in second]


class _Draw(RowDraw):
    """A draw of few rows, because each head is compared with each."""

    def number(self, kind: str, rows: int, keys: int) -> int:
        """Return the number of rows that are read."""
        heads = next(_heads(part) for part in self.layout if part.kind == kind)
        return min(rows, super().number(kind, rows, keys), max(FEWEST_ROWS, COMPARED // (heads * heads * keys)))


def _heads(part: KindLayout) -> int:
    return part.layers * part.heads


def _kind(part: KindLayout) -> str:
    return part.kind.removeprefix(SECOND)
