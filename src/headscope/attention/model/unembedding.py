"""The path from the residual stream to a decoder's logits, found by a trial: a norm after the last block, and a matrix.

What a head adds to the stream stays in it until this norm, so that with the norm's scale of each row frozen, a head's
part of a logit is a product of vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.attention.model.frozen_norms import FrozenNorm, frozen_norm
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import short_inputs
from headscope.models.temporary_changes import hooked

_TOLERANCE = 1e-3  # of the largest logit


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
