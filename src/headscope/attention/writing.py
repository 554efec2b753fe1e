"""What heads add to the residual stream during a pass: by key, by row, and relative to the stream that they read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headscope.attention.model.output_path import Projection
from headscope.attention.model.projections import Projections, StreamNorms
from headscope.attention.model.tap import AttentionCall
from headscope.attention.output_norms import OutputNorms, key_norms, output_norms, pair_norms
from headscope.models.anatomy import CallSite
from headscope.models.temporary_changes import hooked


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
