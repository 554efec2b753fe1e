"""Sums of the Jensen-Shannon divergence between the heads of two models that read the same text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from headscope.analyses.compare.divergence import common_rows, in_order, of_all_pairs, with_keys_permuted
from headscope.attention.head_id import SECOND
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.stack import SEGMENT_LIMIT, RowDraw, RowStack
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
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
        permuted: sums of all pairs with the keys of the second model's rows permuted, `[group, first, second]`; None
            for heads in order.
    """

    kind: str
    first: KindLayout
    second: KindLayout
    sums: NDArray[np.float64]
    rows: NDArray[Any]
    permuted: NDArray[np.float64] | None = None


class ChangeAccumulator(Accumulator):
    """Sum the divergence between heads of two models over the rows of all segments, by group of documents.

    Tiles come from a `PairSource`. Kinds of attention that are not compared are ignored (`pairs_of_kinds`).

    Args:
        layout: kinds of attention of both models (`joint_layout`).
        seed: seed of the sample of rows.
        every_pair: True compares each head with all heads of the other model, on a sample of rows; False compares
            heads in order, on all rows.
        by_word: whether rows are compared between the words that both models have, because their tokens differ.
        limit: largest size in bytes of a segment's weights of one kind; beyond it rows are sampled.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "stack"
    parameters: ClassVar[tuple[str, ...]] = ("seed", "every_pair", "by_word", "limit")
    version: ClassVar[int] = 1
    merges: ClassVar[str] = "; merge scans of the same two models only"

    def __init__(
        self,
        layout: Sequence[KindLayout],
        *,
        seed: int = 0,
        every_pair: bool = False,
        by_word: bool = False,
        limit: int = SEGMENT_LIMIT,
    ) -> None:
        self.seed, self.every_pair, self.by_word, self.limit = seed, every_pair, by_word, limit
        self.groups = PAIR_GROUPS if every_pair else GROUPS
        self.pairs = pairs_of_kinds(layout)
        # The same number of rows is drawn for both models.
        even = tuple(replace(max(pair, key=_heads), kind=part.kind) for pair in self.pairs for part in pair)
        draw = (_Draw if every_pair else RowDraw)(even, seed=seed, limit=limit)
        # The tokens of words are joined first, so all rows are collected.
        self.draw, self._words_drawn = (_All(even), draw) if by_word else (draw, draw)
        self._stack = RowStack(self.draw)
        self._batch: Batch | None = None
        self._tokens: dict[str, tuple[SegmentInfo, SegmentInfo]] = {}
        self._compared: list[tuple[str, int, int, OnHost, OnHost | None]] = []
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare sums over rows, by group of documents and head or pair of heads, and the number of rows."""
        kept: dict[str, Kept | Store] = {}
        for first, second in self.pairs:
            axes = (_heads(first), _heads(second)) if self.every_pair else (first.layers, first.heads)
            kept |= {f"change_{first.kind}": summed(*axes), f"rows_{first.kind}": counted()}
            if self.every_pair:
                kept[f"permuted_{first.kind}"] = summed(*axes)
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
        self._stack, self._batch, self._tokens = RowStack(self.draw), batch, {}

    def update(self, tile: AttentionTile) -> None:
        """Keep the rows of a tile until the batch ends."""
        if any(tile.kind == part.kind for part in self.draw.layout):
            self._stack.add(tile)
            self._tokens.setdefault(tile.kind, (tile.queries, tile.keys))

    def hand_over(self, copy: HostCopy) -> None:
        """Compare the heads of every segment, and free the weights."""
        super().hand_over(copy)
        assert self._batch is not None
        stacks = {(stack.kind, stack.item): stack.layers for stack in self._stack.stacks()}
        self._compared = []
        for first, second in self.pairs:
            for item in range(len(self._batch.segments)):
                sides: list[tuple[Tensor, ...]] = [stacks[part.kind, item] for part in (first, second)]
                # Heads in order are compared layer by layer, which saves a copy of all weights.
                if self.every_pair or self.by_word:
                    sides = [(torch.cat(side),) for side in sides]
                layers = [self._rows(first, second, item, left, right) for left, right in zip(*sides, strict=True)]
                left, right, positions = layers[0]
                permuted = None
                if self.every_pair:
                    other = with_keys_permuted(
                        right, positions, causal=_is_causal(first, second), seed=self.seed, last=self.by_word
                    )
                    permuted = copy.add(of_all_pairs(left, other))
                    change = of_all_pairs(left, right)
                else:
                    change = torch.cat([in_order(left, right) for left, right, _ in layers])
                self._compared.append((first.kind, item, len(positions), copy.add(change), permuted))
        self._stack = RowStack(self.draw)

    def _rows(
        self, first: KindLayout, second: KindLayout, item: int, left: Tensor, right: Tensor
    ) -> tuple[Tensor, Tensor, NDArray[np.int64]]:
        """Return the rows of a segment that are compared, `[head, row, key]` of both models, and their positions."""
        queries, keys = self._tokens[first.kind]
        if self.by_word:
            both = self._tokens[first.kind], self._tokens[second.kind]
            left, right = common_rows(left, right, *both, item=item, causal=_is_causal(first, second))
            rows, columns = left.shape[1:]
        else:
            rows, columns = int(queries.on_host.lengths[item]), int(keys.on_host.lengths[item])
            # A learned sink, which only one of the models may have, is the last key.
            most = max(left.shape[2], right.shape[2])
            left, right = (
                pad(each, (0, most - each.shape[2])) if each.shape[2] < most else each for each in (left, right)
            )
        drawn = self._words_drawn.rows(first.kind, queries.documents[item], queries.indices[item], rows, columns)
        positions = np.arange(rows) if drawn is None else drawn
        if self.by_word and drawn is not None:
            at = torch.from_numpy(drawn).to(left.device)
            left, right = left[:, at], right[:, at]
        return left, right, positions

    def end(self, batch: Batch) -> None:
        """Add the sums of the batch to those of its documents."""
        for kind, item, rows, *handles in self._compared:
            names = (f"change_{kind}", f"permuted_{kind}")
            sums = {
                name: handle.array.reshape(self._kept[name].shape)
                for name, handle in zip(names, handles, strict=True)
                if handle is not None
            }
            self.sums.add(batch.info.documents[item], **sums, **{f"rows_{kind}": np.array(rows)})
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
                permuted=stacked.get(f"permuted_{first.kind}"),
            )
            for first, second in self.pairs
        )


def pairs_of_kinds(layout: Sequence[KindLayout]) -> list[tuple[KindLayout, KindLayout]]:
    """Return the kinds of attention that are compared, of the first model and of the second.

    These are the kinds that both models have; if there is none, the first kind of each (an encoder and a decoder).
    """
    first = [part for part in layout if not part.kind.startswith(SECOND)]
    second = {part.kind.removeprefix(SECOND): part for part in layout if part.kind.startswith(SECOND)}
    pairs = [(part, second[part.kind]) for part in first if part.kind in second]
    return pairs or [(first[0], next(iter(second.values())))]


class _Draw(RowDraw):
    """A draw of few rows, because each head is compared with each."""

    def number(self, kind: str, rows: int, keys: int) -> int:
        """Return the number of rows that are read."""
        heads = next(_heads(part) for part in self.layout if part.kind == kind)
        return min(rows, super().number(kind, rows, keys), max(FEWEST_ROWS, COMPARED // (heads * heads * keys)))


class _All(RowDraw):
    """All rows, however many."""

    def number(self, kind: str, rows: int, keys: int) -> int:
        """Return the number of rows that are read."""
        return rows


def _heads(part: KindLayout) -> int:
    return part.layers * part.heads


def _is_causal(first: KindLayout, second: KindLayout) -> bool:
    return "decoder" in first.kind or "decoder" in second.kind
