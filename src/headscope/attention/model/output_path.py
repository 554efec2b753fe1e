"""The path of a layer's attention output to the residual stream, found from the inputs and outputs of modules on it."""

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.model.unembedding import FrozenNorm, frozen_norm
from headscope.models.identity import is_quantized

Gate = Literal["none", "head", "channel"]
_TOLERANCE = 1e-3  # of the map's own output; in half precision, `_ROUNDINGS` roundings
_QUANTIZED = 0.03  # for a layer that rounds its input to 8 bits, or computes in its own half precision
_ROUNDINGS = 4
_LARGE = 256.0  # next to 256 times the matrix a bias hides little of it, and float16 holds both


@dataclass(frozen=True, eq=False)
class Projection:
    """The path from a head's sum of values to the layer's addition to the stream: gate, norm, projection, norm.

    Attributes:
        factor: `|x W|` is the length of `x @ factor` for a value `x` of the head, where `W` are its rows of the output
            projection times the weights of the norms and the residual multiplier.
        module: the output projection.
        gate: whether the output is first multiplied by one number per head or one per channel.
        before: norm between the attention output and the projection.
        after: norm on the projection's output.
        multiplier: factor by which the model multiplies the result before it is added to the stream.
        in_stream: True if the result is added to the stream; False if it is the projection's output and its further way
            is not known.
    """

    factor: Float[Tensor, "head width rank"] = field(repr=False)
    module: nn.Module = field(repr=False)
    gate: Gate = "none"
    before: FrozenNorm | None = None
    after: FrozenNorm | None = None
    multiplier: float = 1.0
    in_stream: bool = True

    def scale(self, output: Float[Tensor, "batch row inner"]) -> Float[Tensor, "batch row"] | None:
        """Return the frozen scale of the norms for each row; None for a path without a norm.

        Args:
            output: attention output, after the gate.
        """
        scale = None
        # The modules are run without their hooks, so that a user's hooks see each row once.
        if self.before is not None:
            normed = self.before.module.forward(output)
            scale, output = self.before.scale(output, normed), normed
        if self.after is not None:
            projected = self.module.forward(output)
            after_scale = self.after.scale(projected, self.after.module.forward(projected))
            scale = after_scale if scale is None else scale * after_scale
        return scale


class OutputPath:
    """The path of one layer's attention output to the stream, in an unchanged copy and in a changed copy."""

    def __init__(self, output: Float[Tensor, "copy row head width"], *, width: int) -> None:
        self.width = width
        self.heads = output.shape[2]
        self.output = output.flatten(2)
        self.before: FrozenNorm | None = None
        self.gate: Gate = "none"
        self.module: nn.Module | None = None
        self.matrix = output  # placeholder until the projection is found
        self.others = 0
        self.steps: list[tuple[Tensor, FrozenNorm | None]] = []
        self.added: tuple[int, float] | None = None

    def reads(self, read: Tensor) -> None:
        """Check whether the input of a module is the stream after the layer's addition."""
        if read.shape[-1] != self.width:
            return  # not the stream, which has one vector per token
        for index, (step, _) in reversed(list(enumerate(self.steps))):
            if read.numel() != step.numel():
                continue
            multiplier = _added(step, read.reshape(step.shape))
            if multiplier is not None:
                self.added = index, multiplier
                return

    def passes(self, part: nn.Module, read: Tensor, answer: Tensor) -> None:
        """Check whether a module, given its input and output, is a norm or the projection on the path."""
        follows = len(self.steps) == 1 and torch.equal(read, self.steps[0][0]) and not torch.equal(read, answer)
        if follows and (norm := frozen_norm(part, read, answer)) is not None:
            self.steps.append((answer, norm))
            return
        if read.numel() != self.output.numel():
            return
        flat = read.reshape(self.output.shape)
        gate = _gate(self.output, flat, self.heads)
        if gate is None or torch.equal(read, answer) or (gate != "none" and self.before is not None):
            return  # something else, dropout, or both a norm and a gate
        matrix = linear_map(part, flat)
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
        """Return the projection that was found."""
        assert self.module is not None
        index, multiplier = self.added or (0, 1.0)
        matrix = self.matrix.double()
        if self.before is not None:
            matrix = self.before.linear(torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)) @ matrix
        if (after := self.steps[index][1]) is not None:
            matrix = after.linear(matrix)
        return Projection(
            factor=_factor(multiplier * matrix, self.heads),
            module=self.module,
            gate=self.gate,
            before=self.before,
            after=after,
            multiplier=multiplier,
            in_stream=self.added is not None,
        )


def _added(step: Float[Tensor, "copy row width"], stream: Float[Tensor, "copy row width"]) -> float | None:
    """Return the constant multiplier with which a value is added to the stream; None if it is not added that way.

    Args:
        step: value on the path, in the unchanged copy and in the changed one.
        stream: candidate for the stream, in both copies.
    """
    value, exact = step.double(), stream.double()
    change, step_change = exact[1] - exact[0], value[1] - value[0]
    rounding = torch.finfo(stream.dtype).eps * exact.abs().amax(0)
    clear = change.abs() > 8 * rounding
    if clear.double().mean() < 0.5:
        return None
    multiplier = float((change * step_change)[clear].sum() / step_change[clear].square().sum().clamp(min=1e-30))
    off = (change - multiplier * step_change).abs() - 4 * rounding
    rest = (exact[0] - multiplier * value[0]).abs()
    # If nothing remains, the value was not added to anything: it is itself on its way through another module.
    if off.max() > _TOLERANCE * change.abs().max() or rest.max() <= _TOLERANCE * exact.abs().max():
        return None
    return multiplier


def _gate(before: Tensor, after: Tensor, heads: int) -> Gate | None:
    """Return the kind of gate that was applied to the attention output; None if something else was done to it.

    Args:
        before: attention output, in the unchanged copy and in the changed one, `[copy, row, inner]`.
        after: input of a module.
        heads: number of heads in the layer.
    """
    if torch.equal(before, after):
        return "none"
    old, new = before.double(), after.double()
    # A gate does not depend on the output, so it is the same in both copies, except that rounding depends on the
    # rest of the batch; some models compute the gate in single precision whatever their own precision.
    most = 8 * max(torch.finfo(before.dtype).eps, torch.finfo(torch.float32).eps)
    rounding = most * (new[1] * old[0]).abs()
    if not new.any() or bool(((new[1] * old[0] - new[0] * old[1]).abs() > rounding).any()):
        return None
    ratio = (new[0] / old[0]).reshape(len(old[0]), heads, -1)
    apart = (ratio - ratio[..., :1]).abs()
    return "head" if bool((apart <= most * ratio.abs()).all()) else "channel"


def linear_map(part: nn.Module, read: Float[Tensor, "copy row inner"]) -> Float[Tensor, "inner model"] | None:
    """Return the matrix of a linear module (with or without bias); None if it is not linear, or changes nothing."""
    with torch.inference_mode():
        width = read.shape[-1]
        rows = read.flatten(0, 1)
        try:
            bias = part.forward(rows.new_zeros(1, width))
            units = torch.eye(width, dtype=rows.dtype, device=rows.device)
            matrix: Tensor = (part.forward(_LARGE * units) - bias) / _LARGE
            answer = part.forward(rows)
        except Exception:  # a module that wants another input is not a plain linear map
            return None
        if not isinstance(answer, Tensor) or matrix.ndim != 2:
            return None
        off = (rows.double() @ matrix.double() + bias.double() - answer.double()).abs().max()
        most = max(_QUANTIZED if is_quantized(part) else _TOLERANCE, _ROUNDINGS * torch.finfo(answer.dtype).eps)
        if off > most * answer.double().abs().max().clamp(min=1e-9):
            return None
        return matrix


def _factor(matrix: Float[Tensor, "inner model"], heads: int) -> Float[Tensor, "head width rank"]:
    """Return `R'` of each head's `W' = Q R`: `x W` is as long as `x R'`, which is never longer than x is wide."""
    by_head = matrix.detach().double().cpu().reshape(heads, -1, matrix.shape[1])
    upper = torch.linalg.qr(by_head.transpose(1, 2), mode="r").R
    factor: Tensor = upper.transpose(1, 2).float().to(matrix.device).contiguous()
    return factor
