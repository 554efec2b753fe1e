"""Each layer's addition to the residual stream, computed in float64 with hooks on a model's own modules.

A head's part of row i is the sum over keys of `a_ij f_ij`, with `f_ij = ((before_i * v_j) W_O) * after_i`: a gate or
norm between the attention and the projection multiplies each channel, and so does a norm after it.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.attention.model.tap import AttentionCall, Tap

_VALUES = 80  # number of values kept before and after the attention
# Transformers' names for an output projection.
_PROJECTIONS = {"o_proj", "out_proj", "dense", "c_proj", "o", "Wo", "out_lin"}


@dataclass(eq=False)
class Addition:
    """Hold one layer's addition to the stream for one input.

    Attributes:
        weights: `[head, row, key]`.
        values: `v_j` of each head, `[head, key, channel]`.
        output: output of the attention, `[row, head, channel]`.
        before: inputs and outputs of modules before the attention, `[row, width]` each, the latest first.
        behind: the same from the attention on.
        vectors: `f_ij`, `[head, row, key, width]`; None if no projection was called.
        unnormed: the same, without the norm after the projection.
        bias: the part that does not depend on attention, `[row, width]`.
        projected: the projection's output, until the next norm.
    """

    weights: Tensor
    values: Tensor
    output: Tensor
    before: list[Tensor]
    behind: list[Tensor] = field(default_factory=list)
    vectors: Tensor | None = None
    unnormed: Tensor | None = None
    bias: Tensor | None = None
    projected: Tensor | None = None

    def project(self, part: nn.Module, given: Tensor, answer: Tensor) -> None:
        """Apply the projection of the attention's output, and any scaling before it."""
        heads, size = self.output.shape[1:]
        matrix = part.weight.T if isinstance(part, nn.Linear) else part.weight
        times = (given.reshape(self.output.shape) / self.output).transpose(0, 1)
        self.vectors = (times[:, :, None] * self.values[:, None]) @ matrix.detach().reshape(heads, 1, size, -1)
        self.unnormed = self.vectors
        bias = torch.zeros_like(matrix[0]) if part.bias is None else part.bias.detach()
        self.bias = bias.expand(len(self.output), -1)
        self.projected = answer.reshape(1, *self.bias.shape)

    def norm(self, answer: Tensor) -> None:
        """Apply the norm of the projection's output: each row's scale and each channel's weight."""
        times = (answer / self.projected)[0]
        self.vectors, self.bias, self.projected = self.vectors * times[:, None], self.bias * times, None

    def total(self) -> Tensor:
        """Return the sum over heads and keys, plus the bias, `[row, width]`."""
        return torch.einsum("hik,hikw->iw", self.weights, self.vectors) + self.bias

    def streams(self) -> list[tuple[Tensor, float]]:
        """Find the streams to which the model adds the total; return each with its scale.

        The stream is a value from before the attention, and the sum is a value from after it. If a layer computes
        its attention and another module in parallel, the sum has three terms.
        """
        total = self.total().flatten()
        total_norm = total.norm()
        before, behind = (self._others(values) for values in (self.before, self.behind))
        found = []
        for stream in before:
            # The model's stored stream may be scaled, so parts along its direction are removed from both values.
            direction = stream / stream.norm()
            rest, own = (behind - (behind @ direction)[:, None] * direction, total - (total @ direction) * direction)
            times = rest @ own / (own @ own)
            kept = (behind - times[:, None] * total) @ direction / stream.norm()
            off = (rest - times[:, None] * own).abs().amax(1)
            right = (off < 1e-9 * total_norm) & (times.abs() > 1e-6) & (kept.abs() > 1e-3)
            if right.any():
                found.append((stream.reshape(self.bias.shape), float(times[right][0])))
        for stream in before if not found else ():
            for other in torch.cat([before, behind]):
                if bool(((behind - stream - other - total).abs().amax(1) < 1e-9 * total_norm).any()):
                    found.append((stream.reshape(self.bias.shape), 1.0))
        return found

    def _others(self, values: list[Tensor]) -> Tensor:
        """Stack values, `[value, row * width]`, without multiples of the total itself."""
        total = self.total().flatten()
        known = torch.stack([each.flatten() for each in values if each.shape == self.bias.shape])
        cosine = (known @ total / known.norm(dim=1) / total.norm()).abs()
        return known[(cosine < 1 - 1e-9) & (known.norm(dim=1) > 0)]


def additions(model: nn.Module, calls, inputs: dict[str, Tensor]) -> dict[tuple[str, int], Addition]:
    """Run a model on one input and return the addition of every attention layer.

    Args:
        model: a transformers model in float64.
        calls: the layer and kind of each attention call.
        inputs: the model's arguments.
    """
    found: dict[tuple[str, int], Addition] = {}
    recent: list[Tensor] = []
    latest: list[Addition] = []

    def listen(call: AttentionCall) -> Tensor:
        output, weights = call.eager()
        site = calls[call.order]
        if site is not None:
            values = call.value[0].repeat_interleave(weights.shape[1] // call.value.shape[1], dim=0)
            # If a learned sink scales a row's output, it scales the weights as well.
            product = (weights[0] @ values).transpose(0, 1)
            scale = (product * output[0]).sum(-1) / product.square().sum(-1)
            own = Addition(weights[0] * scale.T[..., None], values, output[0], before=recent[: -_VALUES - 1 : -1])
            found[site.kind, site.layer] = own
            latest.append(own)
        return output

    def keep(tensor) -> None:
        if isinstance(tensor, Tensor) and tensor.ndim == 2:  # OPT's feed-forward side
            tensor = tensor[None]
        known = isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.ndim == 3 and len(tensor) == 1
        if not known or any(torch.equal(tensor[0], each) for each in recent[-8:]):
            return
        recent.append(tensor[0].clone())
        for own in latest[-2:]:
            if len(own.behind) < _VALUES:
                own.behind.append(recent[-1])

    def first(given, named) -> Tensor | None:
        return next((each for each in (*given, *named.values()) if isinstance(each, Tensor)), None)

    def before(part, given, named) -> None:
        for value in (*given, *named.values()):
            keep(value)

    def behind(part, given, named, answer) -> None:
        own, value = latest[-1] if latest else None, first(given, named)
        if own is not None and value is not None and isinstance(answer, Tensor):
            if own.vectors is None and part in projections and value.numel() == own.output.numel():
                own.project(part, value, answer)
            elif own.projected is not None and "Norm" in type(part).__name__ and torch.equal(value, own.projected):
                own.norm(answer)
        keep(answer[0] if isinstance(answer, tuple) else answer)

    projections = {
        part
        for name, part in model.named_modules()
        if not _PROJECTIONS.isdisjoint(name.split(".")[-2:]) and isinstance(part, nn.Linear | Conv1D)
    }
    hooks = []
    for part in model.modules():
        hooks.append(part.register_forward_pre_hook(before, with_kwargs=True))
        hooks.append(part.register_forward_hook(behind, with_kwargs=True))
    try:
        with Tap(model, listen), torch.no_grad():
            model(**inputs)
    finally:
        for each in hooks:
            each.remove()
    return found
