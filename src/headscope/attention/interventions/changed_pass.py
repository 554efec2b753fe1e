"""Passes of a model with changed heads (ablation): changed outputs, or changed attention weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.interventions.block_plan import BlockPlan, BlockReplay, Layer
from headscope.attention.model.model_pass import ModelPass
from headscope.attention.model.projections import Projections
from headscope.attention.model.tap import AttentionCall, EagerOutput, Tap, attended, values_by_head
from headscope.attention.row_statistics import Visibility
from headscope.encoding.segment import SegmentInfo
from headscope.errors import ModelError
from headscope.models.temporary_changes import hooked


@dataclass(frozen=True, kw_only=True)
class LayerRows:
    """The rows of a layer in the current batch.

    Attributes:
        layer: kind of the layer, and its position within the kind.
        queries: the attending tokens.
        keys: the attended tokens.
        visibility: keys that each row sees.
    """

    layer: Layer
    queries: SegmentInfo
    keys: SegmentInfo
    visibility: Visibility


OutputChange = Callable[[LayerRows, Float[Tensor, "batch row head width"]], Tensor | None]
"""From the input of a layer's output projection to its replacement; None for no change."""
WeightChange = Callable[[LayerRows, EagerOutput], tuple[list[int], Float[Tensor, "batch head row key"]]]
"""From the attention of a layer to the heads with changed weights, from 0, and their weights."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes of some heads in a pass.

    Attributes:
        outputs: changes of head outputs, by layer.
        weights: changes of attention weights, by layer.
    """

    outputs: Mapping[Layer, OutputChange] = field(default_factory=dict)
    weights: Mapping[Layer, WeightChange] = field(default_factory=dict)


class ChangedPasses:
    """Run a model repeatedly on the same inputs, starting at the first block that holds a changed head.

    Args:
        shared: the current pass.
        plan: the model's blocks.
        projections: path from each layer's attention output to the stream.

    Attributes:
        replay: recorded outputs of the blocks.
    """

    def __init__(self, shared: ModelPass, plan: BlockPlan, projections: Projections) -> None:
        self.shared, self.plan, self.projections = shared, plan, projections
        self.replay = BlockReplay(plan.modules)
        self._changes: Sequence[Changes] = ()
        self._orders: list[int] = []
        self._waiting: dict[nn.Module, tuple[LayerRows, Sequence[OutputChange]]] = {}
        self._masks: dict[Layer, Visibility] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hook the model inside the `with` block."""
        modules = dict.fromkeys(projection.module for projection in self.projections.layers.values())
        hooks = (module.register_forward_pre_hook(self._project, with_kwargs=True) for module in modules)
        try:
            with hooked(hooks), Tap(self.shared.model, self._listen), self.replay.installed():
                yield
        finally:
            self._waiting.clear()

    def unchanged(self, inputs: dict[str, Tensor], *watchers: Changes) -> Any:
        """Run the whole unchanged model; later passes start from the outputs of its blocks.

        Args:
            inputs: the model's arguments for the batch.
            *watchers: functions that read values, called in order; they must not change any.
        """
        self._masks = {}
        self.replay.record()
        return self._run(inputs, watchers, first=0)

    def changed(self, inputs: dict[str, Tensor], changes: Changes) -> Any:
        """Run the model with some heads changed; blocks before the first changed head are not computed.

        Args:
            inputs: inputs of the latest unchanged pass.
            changes: changes of the heads.
        """
        first = min(self.plan.first[layer] for layer in (*changes.outputs, *changes.weights))
        self.replay.replay(first)
        return self._run(inputs, (changes,), first=first)

    def visibility(self, layer: Layer) -> Visibility:
        """Return the keys that the rows of a layer see in the latest unchanged pass."""
        return self._masks[layer]

    def _run(self, inputs: dict[str, Tensor], changes: Sequence[Changes], *, first: int) -> Any:
        self._changes, self._orders = changes, self.plan.calls_from(first)
        try:
            return self.shared.call(inputs, return_dict=True)
        finally:
            self._waiting.clear()

    def _listen(self, call: AttentionCall) -> Tensor:
        """Answer as the model does, except for heads with changed weights; note projections with a changed input."""
        if call.order >= len(self._orders):
            raise ModelError("the model computed more layers than it did at the start; its layers must not vary")
        site = self.shared.anatomy.calls[self._orders[call.order]]
        if site is None:
            return call.eager()[0]
        layer = (site.kind, site.layer)
        if layer not in self._masks:
            rows = slice(0, call.query.shape[2])
            self._masks[layer] = self.shared.visibility(site, rows, call.mask, sink=site.sink)
        layer_rows = LayerRows(
            layer=layer, queries=self.shared.queries(site), keys=self.shared.keys(site), visibility=self._masks[layer]
        )
        if outputs := [each.outputs[layer] for each in self._changes if layer in each.outputs]:
            self._waiting[self.projections.layers[layer].module] = layer_rows, outputs
        change_weights = next((each.weights[layer] for each in self._changes if layer in each.weights), None)
        if change_weights is None:
            return call.eager()[0]
        answer = attended(call)
        heads, weights = change_weights(layer_rows, answer)
        output = answer.output.clone()
        written = weights.to(call.value.dtype) @ values_by_head(call)[:, heads]
        output[:, :, heads] = written.transpose(1, 2).to(output.dtype)
        return output

    def _project(
        self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Change the input of an output projection, once its layer has attended."""
        if module not in self._waiting:
            return None
        rows, changes = self._waiting.pop(module)
        values = [*arguments, *named.values()]
        index = next(number for number, value in enumerate(values) if isinstance(value, Tensor))
        before = values[index]
        heads = self.projections.layers[rows.layer].factor.shape[0]
        outputs = before.reshape(*rows.queries.ids.shape, heads, -1)
        is_changed = False
        for change in changes:
            if (after := change(rows, outputs)) is not None:
                outputs, is_changed = after, True
        if not is_changed:
            return None
        values[index] = outputs.reshape(before.shape).to(before.dtype)
        positional = len(arguments)
        return tuple(values[:positional]), dict(zip(named, values[positional:], strict=True))
