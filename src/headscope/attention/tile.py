"""Tiles: some rows of a layer with their positions, and on request queries, keys and outputs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from headscope.attention.interventions.outcome import HeadEffects
from headscope.attention.model.tap import AttentionCall
from headscope.attention.output_norms import OutputNorms, join_fields, joined, norm_row_statistics
from headscope.attention.row_statistics import Visibility, row_statistics
from headscope.encoding.segment import SegmentInfo


@dataclass(frozen=True, kw_only=True)
class HeadVectors:
    """Queries, keys and outputs of some rows of a layer: views of the model's tensors, which must not be written to.

    Attributes:
        queries: queries as they are multiplied by keys, after position encoding, `[batch, head, row, width]`.
        keys: keys of the whole axis after position encoding, `[batch, group, key, width]`; consecutive heads share a
            group.
        outputs: `sum_j a_ij v_j`, before the output projection, `[batch, head, row, value width]`.
    """

    queries: Tensor = field(repr=False)
    keys: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)


def vectors_of(call: AttentionCall, *, rows: slice, output: Tensor) -> HeadVectors:
    """Return the vectors of some rows of a call, without a copy.

    Args:
        call: call of the attention function.
        rows: slice of the query axis.
        output: output of the attention function for these rows, `[batch, row, head, value width]`.
    """
    return HeadVectors(queries=call.query[:, :, rows], keys=call.key, outputs=output.transpose(1, 2))


@dataclass(frozen=True, kw_only=True)
class AttentionTile:
    """Attention of some rows of one layer, for a batch.

    Attributes:
        kind: `encoder` (bidirectional self-attention), `decoder` (causal) or `cross`.
        layer: 0-based position of the layer within its kind.
        start: the first row's position on the query axis; rows are `start .. start + rows - 1`.
        queries: the tokens that attend, the whole axis.
        keys: the tokens attended to.
        visibility: the keys that each row may attend to.
        groups: the key/value group of each head, `[head]`.
        given_weights: the weights `[batch, head, row, key]`; None where the pass did not keep them.
        given_statistics: the row statistics, where the pass computed them together with its softmax.
        given_gradient: the gradient of a loss with respect to the weights, of their shape, where the pass took it.
        written: the norms of the rows' outputs, where they were requested and the model's output projection is known.
        sink: the weight of the layer's learned sink, `[batch, head, row]`; None where it has none, and where the pass
            kept neither it nor the weights.
        vectors: the heads' queries, keys and outputs, where they were requested and the tap reads the model's
            attention: None for saved maps and for models that return weights alone.
        effects: how much the model's predictions change with the layer's heads, where a source changes them; such a
            tile has all rows, and no weights.
    """

    kind: str
    layer: int
    start: int
    queries: SegmentInfo
    keys: SegmentInfo
    visibility: Visibility
    groups: tuple[int, ...]
    given_weights: Tensor | None = field(default=None, repr=False)
    given_statistics: Tensor | None = field(default=None, repr=False)
    given_gradient: Tensor | None = field(default=None, repr=False)
    written: OutputNorms | None = field(default=None, repr=False)
    sink: Tensor | None = field(default=None, repr=False)
    vectors: HeadVectors | None = field(default=None, repr=False)
    effects: HeadEffects | None = field(default=None, repr=False)

    @property
    def rows(self) -> slice:
        """The rows on the query axis."""
        return slice(self.start, self.start + self.visibility.rows)

    @property
    def weights(self) -> Tensor:
        """Attention weights after the softmax, `[batch, head, row, key]`; rows sum to 1, or to 1 less the `sink`.

        Raises:
            ValueError: no accumulator of this pass declared that it needs weights.
        """
        if self.given_weights is None:
            raise ValueError(
                "this tile holds row statistics only; an accumulator that reads weights must name 'weights' "
                "in its needs"
            )
        return self.given_weights

    @property
    def gradient(self) -> Tensor:
        """Gradient of the loss with respect to each weight, `[batch, head, row, key]`, nats per unit of weight.

        Raises:
            ValueError: the source takes no gradients.
        """
        if self.given_gradient is None:
            raise ValueError(
                "this tile holds no gradient; scan a GradientSource for accumulators that name 'gradient' in their "
                "needs"
            )
        return self.given_gradient

    @cached_property
    def statistics(self) -> Tensor:
        """Statistics of each row, `[batch, head, row, ROW_STATISTICS]`; see `row_quantities.RowQuantity`."""
        if self.given_statistics is not None:
            return self.given_statistics
        return row_statistics(
            self.weights, key_classes=self.keys.classes, start=self.start, square=self.square, sink=self.sink
        )

    @cached_property
    def norm_statistics(self) -> Tensor:
        """Norm-weighted statistics of each row, `[batch, head, row, ROW_STATISTICS]`; NaN in rows that write nothing.

        Raises:
            ValueError: the norms of the rows' outputs are not known.
        """
        if self.written is None:
            raise ValueError("this tile does not know what its rows write; see `written`")
        if self.written.given_statistics is not None:
            return self.written.given_statistics
        return norm_row_statistics(
            self.weights, self.written.lengths, key_classes=self.keys.classes, start=self.start, square=self.square
        )

    @property
    def square(self) -> bool:
        """Whether queries and keys are the same tokens, so that positions can be compared."""
        return self.kind != "cross"

    @property
    def row_valid(self) -> Tensor:
        """Which of the rows are tokens, not padding, `[batch, row]`."""
        return self.queries.valid[:, self.rows]

    @property
    def row_classes(self) -> Tensor:
        """`KeyClass` of each row's token, `[batch, row]`."""
        return self.queries.classes[:, self.rows]


def join_rows(
    tiles: Sequence[AttentionTile], *, known_visibility: dict[tuple[int, ...], Visibility] | None = None
) -> AttentionTile:
    """Join the tiles of one layer, in the order of their rows, into one tile.

    Args:
        tiles: the tiles.
        known_visibility: the joined visibility of earlier layers, by the visibilities of their tiles. New ones are
            added, so that layers that share a mask share what is read from it. It is valid while the tiles of those
            layers exist: for one batch.
    """
    first = tiles[0]
    if len(tiles) == 1:
        return first
    parts = [tile.visibility for tile in tiles]
    known = {} if known_visibility is None else known_visibility
    key = tuple(map(id, parts))
    if key not in known:
        visible = torch.cat([part.visible for part in parts], dim=1)
        whole = Visibility.of(visible, keys=first.keys, start=first.start, square=first.square)
        known[key] = replace(whole, sink=first.visibility.sink)
    tensors = ("given_weights", "given_statistics", "given_gradient", "sink")
    by_row: dict[str, Any] = {name: joined([getattr(tile, name) for tile in tiles], dim=2) for name in tensors}
    written = [tile.written for tile in tiles]
    return replace(
        first,
        visibility=known[key],
        written=join_fields(written, outputs=2, stream=1, scale=2, pairs=2, given_statistics=2),
        vectors=join_fields([tile.vectors for tile in tiles], queries=2, outputs=2),
        **by_row,
    )
