"""The path from the residual stream to a decoder's logits, found by a trial: a norm after the last block, and a matrix.

A norm with the scale of a row frozen multiplies the row by a matrix that all rows share.

What a head adds to the stream stays in it until this norm, so that with the norm's scale of each row frozen, a head's
part of a logit is a product of vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import short_inputs
from headscope.models.temporary_changes import hooked

_OF_NORM = 1e-4
"""Tolerance relative to the norm's largest output; in half precision, `_ROUNDINGS` roundings instead."""
_ROUNDINGS = 8
_TOLERANCE = 1e-3  # of the largest logit


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
    most = max(_OF_NORM, _ROUNDINGS * torch.finfo(norm.bias.dtype).eps)
    return bool(off <= most * answer.abs().max().clamp(min=1e-9))  # False if there are NaNs


@dataclass(frozen=True, eq=False)
class Unembedding:
    """The map from the residual stream to the logits.

    Attributes:
        norm: norm after the last block.
        weight: vector of each token, W_U.
        mean: mean of the vectors of all tokens.
        factor: factor by which the model multiplies the product.
    """

    norm: FrozenNorm
    weight: Float[Tensor, "token width"] = field(repr=False)
    mean: Float[Tensor, " width"] = field(repr=False)
    factor: float = 1.0

    def directions(self, tokens: Int[Tensor, "*row"]) -> Float[Tensor, "*row width"]:
        """Return `factor (W_U[token] - mean W_U)`, the direction in which a token's logit rises above the mean."""
        exact = torch.promote_types(self.weight.dtype, torch.float32)
        return self.factor * (self.weight[tokens].to(exact) - self.mean)


def find_unembedding(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, blocks: Sequence[nn.Module]
) -> Unembedding | str:
    """Run one short input and find how the last block's output becomes logits.

    Args:
        model: a transformers model with its head.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        blocks: blocks of the model.

    Returns:
        The path, or the reason why there is none, in words.
    """
    if {part.kind for part in anatomy.layout} != {"decoder"}:
        return "direct effects are of decoders alone"
    if not blocks:
        return "its blocks are not known"
    head = model.get_output_embeddings()  # type: ignore[operator]
    if type(head) is not nn.Linear:
        return "its unembedding is not a plain linear map"
    watch = _Watch()
    inside = {part for block in blocks for part in block.modules()}
    outside = [part for part in model.modules() if part not in inside and not list(part.children())]
    of_blocks = hooked(block.register_forward_hook(watch.block) for block in blocks)
    of_parts = hooked(part.register_forward_hook(watch.part) for part in outside)
    with of_blocks, of_parts, torch.inference_mode():
        logits = model(**short_inputs(model, anatomy, vocabulary)).logits
    return watch.unembedding(head, logits)


class _Watch:
    """Record the output of the last block, and the modules that process it."""

    def __init__(self) -> None:
        self._stream: Tensor | None = None
        self._after: list[tuple[nn.Module, Tensor, Tensor]] = []

    def block(self, block: nn.Module, _: Any, answer: Any) -> None:
        """Keep the output of a block, and forget the modules after the previous block."""
        self._stream = answer if isinstance(answer, Tensor) else answer[0]
        self._after = []

    def part(self, part: nn.Module, arguments: tuple[Any, ...], answer: Any) -> None:
        """Keep the input and output of a module outside of blocks."""
        if arguments and isinstance(arguments[0], Tensor) and isinstance(answer, Tensor):
            self._after.append((part, arguments[0], answer))

    def unembedding(self, head: nn.Linear, logits: Tensor) -> Unembedding | str:
        """Build the unembedding from the records, or return what is missing."""
        read, scores = next(((read, answer) for part, read, answer in self._after if part is head), (None, None))
        norms = [
            norm
            for part, before, after in self._after
            if self._stream is not None
            and read is not None
            and torch.equal(before, self._stream)
            and torch.equal(after, read)
            and (norm := frozen_norm(part, before, after)) is not None
        ]
        if not norms or scores is None:
            return "no norm alone stands between its last block and its unembedding"
        final, product = logits.double(), scores.double()
        factor = float((final * product).sum() / product.square().sum())
        if (final - factor * product).abs().max() > _TOLERANCE * final.abs().max():
            return "its logits are bent behind the unembedding"
        exact = torch.promote_types(head.weight.dtype, torch.float32)
        return Unembedding(
            norm=norms[0], weight=head.weight.detach(), mean=head.weight.detach().to(exact).mean(0), factor=factor
        )
