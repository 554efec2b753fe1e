"""Passes of a model in which some heads are changed: what they write, or where they look."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.interventions.block_plan import BlockPlan, Layer
from headscope.attention.interventions.block_replay import BlockReplay
from headscope.attention.model.learned_sink import Attended, attended
from headscope.attention.model.model_pass import ModelPass
from headscope.attention.model.projections import Projections
from headscope.attention.model.tap import AttentionCall, Tap, values_by_head
from headscope.attention.visibility import Visibility
from headscope.encoding.segment import SegmentInfo
from headscope.errors import ModelError
from headscope.models.hooks import hooked


@dataclass(frozen=True, kw_only=True)
class LayerRows:
    """A layer of the batch under way.

    Attributes:
        layer: its kind, and its position in it.
        queries: the tokens that attend.
        keys: the tokens attended to.
        visibility: which keys each row sees.
    """

    layer: Layer
    queries: SegmentInfo
    keys: SegmentInfo
    visibility: Visibility


OutputChange = Callable[[LayerRows, Float[Tensor, "batch row head width"]], Tensor | None]
"""From what the output projection of a layer takes to what it shall take instead; None for the same."""
WeightChange = Callable[[LayerRows, Attended], tuple[list[int], Float[Tensor, "batch head row key"]]]
"""From the attention of a layer to the heads that look elsewhere, from 0, and their weights."""
_NOTHING: Mapping[Layer, Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What is done to some heads in a pass.

    Attributes:
        outputs: to what heads write, by layer.
        weights: to where they look, by layer.
    """

    outputs: Mapping[Layer, OutputChange] = field(default_factory=lambda: _NOTHING)
    weights: Mapping[Layer, WeightChange] = field(default_factory=lambda: _NOTHING)


UNCHANGED = Changes()


class ChangedPasses:
    """Runs a model again and again on the same inputs, from the first block that holds a changed head on.

    Args:
        shared: the pass under way.
        plan: the model's blocks.
        projections: where the output of each layer's attention goes.

    Attributes:
        replay: what the blocks returned.
    """

    def __init__(self, shared: ModelPass, plan: BlockPlan, projections: Projections) -> None:
        self.shared, self.plan, self.projections = shared, plan, projections
        self.replay = BlockReplay(plan.modules)
        self._whole = 0
        self._changes = UNCHANGED
        self._orders: list[int] = []
        self._waiting: dict[nn.Module, tuple[LayerRows, OutputChange]] = {}
        self._masks: dict[Layer, Visibility] = {}

    @property
    def passes(self) -> float:
        """How many forward passes were made so far, the parts of a pass added up."""
        return self._whole + self.replay.computed / self.plan.number

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hook the model for as long as the `with` block lasts."""
        modules = dict.fromkeys(projection.module for projection in self.projections.layers.values())
        hooks = (module.register_forward_pre_hook(self._project, with_kwargs=True) for module in modules)
        try:
            with hooked(hooks), Tap(self.shared.model, self._listen), self.replay.installed():
                yield
        finally:
            self._waiting.clear()

    def unchanged(self, inputs: dict[str, Tensor], *, changes: Changes = UNCHANGED) -> Any:
        """Run the model as it is, the whole of it; passes that follow begin with what its blocks return.

        Args:
            inputs: the model's arguments for the batch.
            changes: what is looked at; nothing may be changed.
        """
        self._masks = {}
        self.replay.record()
        return self._run(inputs, changes, first=0)

    def changed(self, inputs: dict[str, Tensor], changes: Changes) -> Any:
        """Run the model with some heads changed; blocks below the first of them are not computed.

        Args:
            inputs: those of the latest unchanged pass.
            changes: what is done.
        """
        first = min(self.plan.first[layer] for layer in (*changes.outputs, *changes.weights))
        self.replay.replay(first)
        return self._run(inputs, changes, first=first)

    def visibility(self, layer: Layer) -> Visibility:
        """Return which keys the rows of a layer see in the latest unchanged pass."""
        return self._masks[layer]

    def _run(self, inputs: dict[str, Tensor], changes: Changes, *, first: int) -> Any:
        self._changes, self._orders = changes, self.plan.calls_from(first)
        if not self.plan.modules:
            self._whole += 1
        try:
            return self.shared.call(inputs, return_dict=True)
        finally:
            self._waiting.clear()

    def _listen(self, call: AttentionCall) -> Tensor:
        """Answer as the model does, but for heads that look elsewhere; remember what they write to."""
        if call.order >= len(self._orders):
            raise ModelError("the model computed more layers than it did at the start; its layers must not vary")
        site = self.shared.anatomy.calls[self._orders[call.order]]
        if site is None:
            return call.eager()[0]
        layer, changes = (site.kind, site.layer), self._changes
        if layer not in self._masks:
            rows = slice(0, call.query.shape[2])
            self._masks[layer] = self.shared.visibility(site, rows, call.mask, sink=site.sink)
        layer_rows = LayerRows(
            layer=layer, queries=self.shared.queries(site), keys=self.shared.keys(site), visibility=self._masks[layer]
        )
        if layer in changes.outputs:
            self._waiting[self.projections.layers[layer].module] = layer_rows, changes.outputs[layer]
        if layer not in changes.weights:
            return call.eager()[0]
        answer = attended(call)
        heads, weights = changes.weights[layer](layer_rows, answer)
        output = answer.output.clone()
        written = weights.to(call.value.dtype) @ values_by_head(call)[:, heads]
        output[:, :, heads] = written.transpose(1, 2).to(output.dtype)
        return output

    def _project(
        self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Change what an output projection is given, once its layer has attended."""
        if module not in self._waiting:
            return None
        rows, change = self._waiting.pop(module)
        values = [*arguments, *named.values()]
        index = next(number for number, value in enumerate(values) if isinstance(value, Tensor))
        before = values[index]
        heads = self.projections.layers[rows.layer].factor.shape[0]
        after = change(rows, before.reshape(*rows.queries.ids.shape, heads, -1))
        if after is None:
            return None
        values[index] = after.reshape(before.shape).to(before.dtype)
        positional = len(arguments)
        return tuple(values[:positional]), dict(zip(named, values[positional:], strict=True))
