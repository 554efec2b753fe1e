"""Norms as linear maps: with the scale of a row frozen, a norm multiplies the row by a matrix that all rows share."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

_TOLERANCE = 1e-4
"""Tolerance relative to the norm's largest output; in half precision, `_ROUNDINGS` roundings instead."""
_ROUNDINGS = 8


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A norm over the last axis: `norm(x) = scale(x) * linear(x) + bias`.

    RMS norms and layer norms have this form, and so does a product with fixed numbers, whose scale is 1.

    Attributes:
        module: module of the model.
        weight: factor of each channel, up to a constant that is in the scale.
        bias: bias of each channel.
        centered: whether a row's mean is subtracted first.
    """

    module: nn.Module = field(repr=False)
    weight: Float[Tensor, " width"] = field(repr=False)
    bias: Float[Tensor, " width"] = field(repr=False)
    centered: bool

    def linear(self, rows: Float[Tensor, "*row width"]) -> Float[Tensor, "*row width"]:
        """Return rows times the matrix that all rows share."""
        if self.centered:
            rows = rows - rows.mean(-1, keepdim=True)
        return rows * self.weight.to(rows.dtype)

    def scale(self, rows: Float[Tensor, "*row width"], answer: Float[Tensor, "*row width"]) -> Float[Tensor, "*row"]:
        """Return the scale of each row; 0 for a row of zeros.

        Args:
            rows: input of the norm.
            answer: output of the norm.
        """
        exact = torch.promote_types(rows.dtype, torch.float32)
        linear = self.linear(rows.to(exact))
        product = (linear * (answer.to(exact) - self.bias.to(exact))).sum(-1)
        scale: Tensor = product / linear.square().sum(-1).clamp(min=torch.finfo(exact).tiny)
        return scale


def frozen_norm(part: nn.Module, rows: Tensor, answer: Tensor) -> FrozenNorm | None:
    """Return a module as a frozen norm, found by a trial; None if it is not a norm.

    Args:
        part: module of the model.
        rows: its input, `[..., width]`.
        answer: its output.
    """
    width = rows.shape[-1]
    if answer.shape != rows.shape or width < 2:
        return None
    # A row with a mean of 0 and no zeros shows every channel's weight, whether the mean is subtracted or not.
    probe = torch.ones(width, dtype=rows.dtype, device=rows.device)
    probe[1::2] = -1.0
    if width % 2:
        probe[-3:] = torch.tensor([1.0, 1.0, -2.0])
    with torch.inference_mode():
        try:
            bias, answered = part.forward(torch.stack([torch.zeros_like(probe), probe]))
        except Exception:  # a module that wants another input is not a norm
            return None
        exact = torch.promote_types(rows.dtype, torch.float32)
        weight = (answered.to(exact) - bias.to(exact)) / probe.to(exact)
        for centered in (False, True):
            norm = FrozenNorm(part, weight=weight, bias=bias, centered=centered)
            if _fits(norm, rows.to(exact), answer.to(exact)):
                return norm
    return None


def _fits(norm: FrozenNorm, rows: Tensor, answer: Tensor) -> bool:
    fitted = norm.scale(rows, answer)[..., None] * norm.linear(rows) + norm.bias
    off = (fitted - answer).abs().max()
    most = max(_TOLERANCE, _ROUNDINGS * torch.finfo(norm.bias.dtype).eps)
    return bool(off <= most * answer.abs().max().clamp(min=1e-9))  # False if there are NaNs
