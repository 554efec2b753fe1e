"""What a head adds to the residual stream: the maps between the attention's output and the stream, found by looking.

No list of names: one forward pass of a short input, in which every part without parts of its own is watched. The batch
holds copies of the input, and in each copy the output of one layer's attention is changed. The part that takes this
output, whole or times a gate, and is linear is the layer's output projection; a norm may stand before it and after it.
What a later part reads has changed by as much as the layer's addition to the stream, times a residual multiplier: that
shows which of these values is added, and that nothing else happens to it on the way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.model.frozen_norms import FrozenNorm, frozen_norm
from headscope.attention.model.tap import AttentionCall, Tap
from headscope.attention.stream import StreamNorms
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy, CallSite
from headscope.models.forward_inputs import made_up_segment, model_inputs, no_cache

Gate = Literal["none", "head", "channel"]
_TOKENS = 6
_TOLERANCE = 1e-3  # of the map's own output; in half precision as many roundings as follow
_ROUNDINGS = 4
_LARGE = 256.0  # a bias beside that many times the matrix hides little of it, and float16 holds both


@dataclass(frozen=True, eq=False)
class Projection:
    """From a head's sum of values to what the layer adds to the residual stream: gate, norm, projection, norm.

    Attributes:
        factor: `|x W|` is the length of `x @ factor` for a value `x` of the head, where `W` are its rows of the output
            projection times the weights of the norms and the residual multiplier.
        module: the output projection.
        gate: whether the output is multiplied by one number a head or one a channel first.
        before: the norm that the output goes through first.
        after: the norm that the projection's output goes through.
        in_stream: whether the result is what is added to the stream; else it is the projection's output, and what
            becomes of it is not known.
    """

    factor: Float[Tensor, "head width rank"] = field(repr=False)
    module: nn.Module = field(repr=False)
    gate: Gate = "none"
    before: FrozenNorm | None = None
    after: FrozenNorm | None = None
    in_stream: bool = True

    def scale(self, output: Float[Tensor, "batch row inner"]) -> Float[Tensor, "batch row"] | None:
        """Return the norms' scale of each row, frozen; None where no norm is on the way.

        Args:
            output: of the attention, after the gate.
        """
        scale = None
        # The parts are run without their hooks: a user's hooks see each row once.
        if self.before is not None:
            normed = self.before.module.forward(output)
            scale, output = self.before.scale(output, normed), normed
        if self.after is not None:
            projected = self.module.forward(output)
            after_scale = self.after.scale(projected, self.after.module.forward(projected))
            scale = after_scale if scale is None else scale * after_scale
        return scale


@dataclass(frozen=True)
class Projections:
    """The projection of every layer.

    Attributes:
        layers: by kind and layer.
        missing: why there is none, by kind and layer.
    """

    layers: Mapping[tuple[str, int], Projection]
    missing: Mapping[tuple[str, int], str]


def find_projections(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary) -> Projections:
    """Run one short input and see where the output of each layer's attention goes.

    Args:
        model: a transformers model, on its device.
        anatomy: what `examine` found.
        vocabulary: of the tokenizer.
    """
    sites = [CallSite(part.kind, layer, ()) for part in anatomy.layout for layer in range(part.layers)]
    if anatomy.path == "fallback":
        why = f"{type(model).__name__} does not ask transformers' attention interface"
        return Projections(layers={}, missing={(site.kind, site.layer): why for site in sites})
    number = 1 + len(sites)
    watch = _Watch(anatomy, StreamNorms(model), number=number)
    hooks = []
    for part in model.modules():
        if next(part.children(), None) is None:
            hooks.append(part.register_forward_pre_hook(watch.before, with_kwargs=True))
            hooks.append(part.register_forward_hook(watch.after, with_kwargs=True))
    try:
        with Tap(model, watch.listen), watch.streams.listening(), torch.inference_mode():
            model(**_copies(model, anatomy, vocabulary, number=number), **no_cache(anatomy))
    finally:
        for hook in hooks:
            hook.remove()
    layers, missing = {}, {}
    for site in sites:
        site_key = (site.kind, site.layer)
        path = watch.paths.get(site_key)
        if path is None or path.module is None:
            missing[site_key] = "no linear map takes the attention's output"
        elif path.others:
            missing[site_key] = f"{1 + path.others} linear maps take the attention's output"
        else:
            layers[site_key] = path.projection()
    return Projections(layers=MappingProxyType(layers), missing=MappingProxyType(missing))


class _Path:
    """The way of one layer's attention output to the stream, in the copy that is left alone and in its own."""

    def __init__(self, output: Float[Tensor, "copy row head width"], *, width: int) -> None:
        self.width = width
        self.heads = output.shape[2]
        self.output = output.flatten(2)
        self.before: FrozenNorm | None = None
        self.gate: Gate = "none"
        self.module: nn.Module | None = None
        self.matrix = output  # until there is one
        self.others = 0
        self.steps: list[tuple[Tensor, FrozenNorm | None]] = []
        self.added: tuple[int, float] | None = None

    def reads(self, read: Tensor) -> None:
        """Look at what a part is given: is it the stream after the layer's addition?"""
        if read.shape[-1] != self.width:
            return  # not the stream that the block reads, of one vector a token
        for index, (step, _) in reversed(list(enumerate(self.steps))):
            if read.numel() != step.numel():
                continue
            multiplier = _added(step, read.reshape(step.shape))
            if multiplier is not None:
                self.added = index, multiplier
                return

    def passes(self, part: nn.Module, read: Tensor, answer: Tensor) -> None:
        """Look at what a part makes of what it is given: is it a norm or the projection on the way?"""
        follows = (
            len(self.steps) == 1 and torch.equal(read, self.steps[0][0]) and not torch.equal(read, answer)
        )
        if follows and (norm := frozen_norm(part, read, answer)) is not None:
            self.steps.append((answer, norm))
            return
        if read.numel() != self.output.numel():
            return
        flat = read.reshape(self.output.shape)
        gate = _gate(self.output, flat, self.heads)
        if gate is None or torch.equal(read, answer) or (gate != "none" and self.before is not None):
            return  # something else, dropout, or both a norm and a gate
        matrix = _matrix(part, flat)
        if matrix is None:
            norm = frozen_norm(part, read, answer) if gate == "none" and self.before is None else None
            if norm is not None and read.shape == self.output.shape:
                self.before, self.output = norm, answer
        elif self.module is not None:
            self.others += 1
        else:
            self.module, self.matrix, self.gate = part, matrix, gate
            self.steps = [(answer.reshape(*flat.shape[:2], -1), None)]

    def projection(self) -> Projection:
        """Return what was found."""
        assert self.module is not None
        index, multiplier = self.added or (0, 1.0)
        matrix = self.matrix.double()
        if self.before is not None:
            matrix = (
                self.before.linear(torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)) @ matrix
            )
        if (after := self.steps[index][1]) is not None:
            matrix = after.linear(matrix)
        return Projection(
            factor=_factor(multiplier * matrix, self.heads),
            module=self.module,
            gate=self.gate,
            before=self.before,
            after=after,
            in_stream=self.added is not None,
        )


class _Watch:
    """What the parts of the model are given and make of it, looked at for each layer whose way is not yet known.

    Args:
        anatomy: what `examine` found.
        streams: of the model.
        number: how many copies the batch holds: one left alone, and one a layer.
    """

    def __init__(self, anatomy: Anatomy, streams: StreamNorms, *, number: int) -> None:
        self.streams = streams
        self.number = number
        self.calls = anatomy.calls
        self.paths: dict[tuple[str, int], _Path] = {}
        self.copies: dict[tuple[str, int], Tensor] = {}  # of the batch: the one left alone, and the layer's
        self.generator = torch.Generator().manual_seed(0)

    def listen(self, call: AttentionCall) -> Tensor:
        """Answer as eager attention does, but for the layer's copy."""
        site = self.calls[call.order]
        output = call.eager()[0].contiguous()
        if site is not None:
            site_key, copy = (site.kind, site.layer), 1 + len(self.paths)
            noise = torch.randn(output.shape[1:], generator=self.generator).to(output)
            output[copy] += output[0].float().square().mean().sqrt() * noise
            self.copies[site_key] = torch.tensor([0, copy], device=output.device)
            self.paths[site_key] = _Path(output[self.copies[site_key]], width=self.streams.width(call.module))
        return output

    def _open(self) -> list[tuple[_Path, Tensor]]:
        return [(path, self.copies[site_key]) for site_key, path in self.paths.items() if path.added is None]

    def before(self, part: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Look at what goes into a part."""
        first = _first(*arguments, *named.values())
        for path, copies in self._open():
            if first is not None and (copied := self._own(first, copies)) is not None:
                path.reads(copied)

    def after(self, part: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], answer: Any) -> None:
        """Look at what a part has made."""
        first = _first(*arguments, *named.values())
        if first is None or not isinstance(answer, Tensor):
            return
        for path, copies in self._open():
            read, produced = self._own(first, copies), self._own(answer, copies)
            if read is not None and produced is not None:
                path.passes(part, read, produced)

    def _own(self, tensor: Tensor, copies: Tensor) -> Tensor | None:
        """Return the two copies of a layer; None of what holds no numbers for each copy."""
        if not tensor.is_floating_point() or tensor.ndim < 2 or tensor.shape[0] % self.number:
            return None
        by_copy = (
            tensor if tensor.shape[0] == self.number else tensor.reshape(self.number, -1, *tensor.shape[1:])
        )
        return by_copy[copies]


def _first(*arguments: Any) -> Tensor | None:
    return next((each for each in arguments if isinstance(each, Tensor)), None)


def _added(step: Float[Tensor, "copy row width"], stream: Float[Tensor, "copy row width"]) -> float | None:
    """Return what a value is multiplied by where it is added to the stream; None where it is not added just so.

    Args:
        step: on the way, in the copy left alone and in the changed one.
        stream: what may be the stream, in both.
    """
    value, exact = step.double(), stream.double()
    change, step_change = exact[1] - exact[0], value[1] - value[0]
    rounding = torch.finfo(stream.dtype).eps * exact.abs().amax(0)
    clear = change.abs() > 8 * rounding
    if clear.double().mean() < 0.5:
        return None
    multiplier = float(
        (change * step_change)[clear].sum() / step_change[clear].square().sum().clamp(min=1e-30)
    )
    off = (change - multiplier * step_change).abs() - 4 * rounding
    rest = (exact[0] - multiplier * value[0]).abs()
    # Without a rest nothing was added to: the value itself is on its way through another part.
    if off.max() > _TOLERANCE * change.abs().max() or rest.max() <= _TOLERANCE * exact.abs().max():
        return None
    return multiplier


def _gate(before: Tensor, after: Tensor, heads: int) -> Gate | None:
    """Return what gate the attention's output went through; None where something else was done to it.

    Args:
        before: the attention's output, in the copy left alone and in the changed one, `[copy, row, inner]`.
        after: what a part is given.
        heads: of the layer.
    """
    if torch.equal(before, after):
        return "none"
    old, new = before.double(), after.double()
    # A gate does not depend on the output: it is the same in both copies.
    rounding = 8 * torch.finfo(before.dtype).eps * (new[1] * old[0]).abs()
    if not new.any() or bool(((new[1] * old[0] - new[0] * old[1]).abs() > rounding).any()):
        return None
    ratio = (new[0] / old[0]).reshape(len(old[0]), heads, -1)
    apart = (ratio - ratio[..., :1]).abs()
    most = 8 * torch.finfo(before.dtype).eps
    return "head" if bool((apart <= most * ratio.abs()).all()) else "channel"


def _matrix(part: nn.Module, read: Float[Tensor, "copy row inner"]) -> Float[Tensor, "inner model"] | None:
    """Return the matrix of a part that is linear (with a bias or without); None where it is not, or changes nothing."""
    with torch.inference_mode():
        width = read.shape[-1]
        rows = read.flatten(0, 1)
        try:
            bias = part.forward(rows.new_zeros(1, width))
            units = torch.eye(width, dtype=rows.dtype, device=rows.device)
            matrix: Tensor = (part.forward(_LARGE * units) - bias) / _LARGE
            answer = part.forward(rows)
        except Exception:  # whatever else a part may want of its input, it is no plain map then
            return None
        if not isinstance(answer, Tensor) or matrix.ndim != 2:
            return None
        off = (rows.double() @ matrix.double() + bias.double() - answer.double()).abs().max()
        most = max(_TOLERANCE, _ROUNDINGS * torch.finfo(answer.dtype).eps)
        if off > most * answer.double().abs().max().clamp(min=1e-9):
            return None
        return matrix


def _factor(matrix: Float[Tensor, "inner model"], heads: int) -> Float[Tensor, "head width rank"]:
    """Return `R'` of each head's `W' = Q R`: `x W` is as long as `x R'`, which is never longer than x is wide."""
    by_head = matrix.detach().double().cpu().reshape(heads, -1, matrix.shape[1])
    upper = torch.linalg.qr(by_head.transpose(1, 2), mode="r").R
    factor: Tensor = upper.transpose(1, 2).float().to(matrix.device).contiguous()
    return factor


def _copies(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, *, number: int) -> dict[str, Tensor]:
    """Return the model's arguments for copies of one made-up input of a few tokens."""
    size = min(len(vocabulary.classes), 1 << 16)
    segment = made_up_segment(_TOKENS, vocabulary, size=size, generator=torch.Generator().manual_seed(0))
    _, inputs, _ = model_inputs([segment] * number, anatomy, vocabulary)
    device = next(model.parameters()).device
    return {name: tensor.to(device) for name, tensor in inputs.items()}
