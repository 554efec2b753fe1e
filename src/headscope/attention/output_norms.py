"""Norms of the vectors that a head adds to the residual stream, by key and row, during a pass (Kobayashi et al. 2020).

From key j a head adds `a_ij f_j` with `f_j = v_j W_O`, where W_O are its rows of the output projection; at row i it
adds the sum of these. Weight on a key with a short f has no effect. If there is a gate before the projection or a norm
after it, f depends on the row, too: `f_ij = s_i (g_i * v_j) W`, with the norm's scale of that row frozen and its weight
in W.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor, nn

from headscope.attention.model.output_path import Projection
from headscope.attention.model.projections import Projections, StreamNorms
from headscope.attention.model.tap import AttentionCall
from headscope.attention.row_statistics import row_statistics
from headscope.models.anatomy import CallSite
from headscope.models.temporary_changes import hooked

# Maximum size of a gated array: a head's values, once for each of some rows.
_GATED = 1 << 22


@dataclass(frozen=True, kw_only=True)
class OutputNorms:
    """Norms of the vectors that a layer's heads add to the residual stream at some rows.

    The norm of the vector that row i gets from key j, `f_ij`, is `scale_i` times the norm of the key, or of the pair.

    Attributes:
        keys: `|v_j W|` of the whole axis, `[batch, head, key]`.
        outputs: `|sum_j a_ij f_ij|`, `[batch, head, row]`.
        stream: norm of the layer's input at each row, `[batch, row]`; None if it is not known, or if it is not known
            whether the outputs are added to it.
        scale: scale of each row, `[batch, head or 1, row]`; None if it is 1.
        pairs: `|(g_i * v_j) W|` instead of `keys` if a gate differs by channel, `[batch, head, row, key]`.
        given_statistics: row statistics of `a_ij |f_ij|`, if the pass computed them along with its softmax.
    """

    keys: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)
    stream: Tensor | None = field(default=None, repr=False)
    scale: Tensor | None = field(default=None, repr=False)
    pairs: Tensor | None = field(default=None, repr=False)
    given_statistics: Tensor | None = field(default=None, repr=False)

    @property
    def lengths(self) -> Tensor:
        """`|f_ij|` without its row's scale, which no share of a row depends on, `[batch, head, (row,) key]`."""
        return self.keys if self.pairs is None else self.pairs

    def over_rows(self, visible: Bool[Tensor, "batch row key"]) -> Float64[Tensor, "batch head key"]:
        """Sum `|f_ij|` over the rows that see each key."""
        factor_of_row = visible[:, None].double()
        if self.scale is not None:
            factor_of_row = factor_of_row * self.scale.double()[..., None]
        if self.pairs is not None:
            return torch.where(visible[:, None], self.pairs.double() * factor_of_row, 0.0).sum(2)
        return torch.where(visible.any(1)[:, None], self.keys.double() * factor_of_row.sum(2), 0.0)


def key_norms(
    value: Float[Tensor, "batch group key width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head key"]:
    """Return `|f_j|` of each head and key.

    Args:
        value: values from the model's own code; consecutive heads share a group.
        factor: factor of `Projection`.
    """
    return _lengths(value.transpose(0, 1), factor)


def output_norms(
    output: Float[Tensor, "batch row head width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head row"]:
    """Return `|sum_j a_ij f_j|` of each head and row, from the attention's output as the model gets it."""
    return _lengths(output.permute(2, 0, 1, 3), factor)


def _lengths(
    vectors: Float[Tensor, "group batch row width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head row"]:
    """Return the norms of each group's vectors multiplied by the factors of its heads."""
    groups, batch, rows, width = vectors.shape
    heads = factor.shape[0]
    # A group's heads are concatenated, so that vectors are neither repeated for them nor copied twice.
    of_group = factor.reshape(groups, -1, *factor.shape[1:]).transpose(1, 2).reshape(groups, width, -1)
    flat = vectors.to(factor.dtype, memory_format=torch.contiguous_format).reshape(groups, batch * rows, width)
    product = (flat @ of_group).view(groups, batch, rows, heads // groups, -1)
    lengths: Tensor = torch.linalg.vector_norm(product, dim=-1)
    return lengths.permute(1, 0, 3, 2).reshape(batch, heads, rows)


def pair_norms(
    value: Float[Tensor, "batch group key width"],
    gate: Float[Tensor, "batch row head width"],
    factor: Float[Tensor, "head width rank"],
) -> Float[Tensor, "batch head row key"]:
    """Return `|(g_i * v_j) W|` of each head, row and key, since a gate by channel changes `|v_j W|`.

    Args:
        value: values from the model's own code; consecutive heads share a group.
        gate: factors of each channel of a row's output.
        factor: factor of `Projection`.
    """
    batch, rows, heads, width = gate.shape
    shared, keys = heads // value.shape[1], value.shape[2]
    norms = factor.new_empty((batch, heads, rows, keys))
    step = max(1, _GATED // (batch * keys * width))
    for head in range(heads):
        values = value[:, head // shared, None].to(factor.dtype)
        for start in range(0, rows, step):
            gated = values * gate[:, start : start + step, head, None].to(factor.dtype)
            torch.linalg.vector_norm(gated @ factor[head], dim=-1, out=norms[:, head, start : start + step])
    return norms


def norm_shares(
    weights: Float[Tensor, "batch head row key"], norms: Float[Tensor, "batch head *row key"]
) -> Float64[Tensor, "batch head row key"]:
    """Return `a_ij |f_j|`, each row divided by its sum; NaN in rows with a sum of 0."""
    written = weights.double() * (norms if norms.ndim == 4 else norms[:, :, None]).double()
    total = written.sum(-1, keepdim=True)
    return written / torch.where(total > 0, total, torch.nan)


def norm_row_statistics(
    weights: Float[Tensor, "batch head row key"],
    norms: Float[Tensor, "batch head *row key"],
    *,
    key_classes: Int[Tensor, "batch key"],
    start: int = 0,
    square: bool = True,
) -> Float64[Tensor, "batch head row quantity"]:
    """Compute the statistics of every row with `norm_shares` in place of the weights.

    Arguments and result are those of `row_statistics`; `norms` are `OutputNorms.lengths`. All statistics of a row
    that writes nothing are NaN.
    """
    shares = norm_shares(weights, norms)
    statistics = row_statistics(shares, key_classes=key_classes, start=start, square=square)
    return statistics.masked_fill(shares[..., :1].isnan(), torch.nan)


def joined(parts: Sequence[Tensor | None], *, dim: int) -> Tensor | None:
    """Join parts of the tiles of one layer along their rows; None if a tile has no part."""
    known = [part for part in parts if part is not None]
    return torch.cat(known, dim=dim) if len(known) == len(parts) else None


Parts = TypeVar("Parts")


def join_fields(parts: Sequence[Parts | None], **dims: int) -> Parts | None:
    """Join dataclasses of the tiles of one layer, in the order of their rows; None if a tile has none.

    Args:
        parts: one dataclass for each tile.
        **dims: the axis of rows of each field that has one; the others are the same in all tiles.
    """
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    rows = {name: joined([getattr(part, name) for part in known], dim=dim) for name, dim in dims.items()}
    return replace(known[0], **rows)  # type: ignore[type-var]


class Writing:
    """Measure what a model's heads add to the residual stream while it runs.

    Args:
        model: a transformers model.
        projections: path from each layer's attention output to the stream.
    """

    def __init__(self, model: nn.Module, projections: Projections) -> None:
        self.projections = projections
        self._streams = StreamNorms(model)
        self._waiting: dict[nn.Module, tuple[Tensor, Callable[[Tensor], object]]] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Watch the stream and the gates inside the `with` block."""
        gated = {each.module for each in self.projections.layers.values() if each.gate != "none"}
        hooks = (part.register_forward_pre_hook(self._gated, with_kwargs=True) for part in gated)
        try:
            with hooked(hooks), self._streams.listening():
                yield
        finally:
            self._waiting.clear()

    def of(self, site: CallSite) -> Projection | None:
        """Return the path of a layer's attention output to the stream; None if it is not known."""
        return self.projections.layers.get((site.kind, site.layer))

    def when_gated(self, projection: Projection, output: Tensor, then: Callable[[Tensor], object]) -> None:
        """Call a function with the gate of a layer, `[batch, row, head, width]`, as soon as the model has applied it.

        Args:
            projection: projection of the layer.
            output: output of the layer's attention, before the gate, `[batch, row, head, width]`.
            then: function to call; it is called before the model goes on.
        """
        self._waiting[projection.module] = output, then

    def _gated(self, part: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if part not in self._waiting:
            return
        output, then = self._waiting.pop(part)
        gated = next(each for each in (*arguments, *named.values()) if isinstance(each, Tensor))
        # Where the output is 0, the gate has nothing to multiply.
        then((gated.reshape(output.shape) / output).masked_fill(output == 0, 0.0))

    def written(
        self,
        call: AttentionCall,
        projection: Projection,
        *,
        rows: slice,
        output: Tensor,
        keys: Tensor | None = None,
        gate: Tensor | None = None,
        statistics: Tensor | None = None,
    ) -> OutputNorms:
        """Return the norms of what some rows of a layer add to the stream.

        Args:
            call: call of the attention function.
            projection: projection of the layer.
            rows: slice of the query axis.
            output: attention output of these rows, before a gate, `[batch, row, head, width]`.
            keys: `key_norms` of the call, if they were computed before.
            gate: gate of these rows, shaped as `output`; None if there is none.
            statistics: norm-weighted statistics of the rows, if the pass computed them along with its softmax.
        """
        factor = projection.factor
        gated = output if gate is None else output * gate
        scale = projection.scale(gated.flatten(2))
        outputs = output_norms(gated, factor)
        if scale is not None:
            scale = scale[:, None].to(outputs.dtype)
            outputs = outputs * scale
        pairs = None
        if gate is not None and projection.gate == "channel":
            pairs = pair_norms(call.value, gate, factor)
        elif gate is not None:
            by_head = gate.abs().amax(-1).transpose(1, 2).to(outputs.dtype)  # equal for all channels, 0 where unknown
            scale = by_head if scale is None else scale * by_head
        stream = self._streams.of(call.module) if projection.in_stream else None
        fits = stream is not None and stream.shape == (call.query.shape[0], call.query.shape[2])
        return OutputNorms(
            keys=key_norms(call.value, factor) if keys is None else keys,
            outputs=outputs,
            stream=stream[:, rows] if stream is not None and fits else None,
            scale=scale,
            pairs=pairs,
            given_statistics=statistics,
        )
