"""What a layer reads: the residual stream as it comes into the block that an attention module stands in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.models.hooks import hooked


class StreamNorms:
    """How long the stream's vectors are that each layer of a model reads, for the forward pass under way.

    A block is the innermost element of a list of modules around the attention module (`encoder.layer.3`), and what it
    reads is its first argument, one vector a token.

    Args:
        model: a transformers model.
    """

    def __init__(self, model: nn.Module) -> None:
        self._block: dict[nn.Module, nn.Module] = {}
        for part in model.modules():  # outer lists come before those inside
            if isinstance(part, nn.ModuleList):
                for element in part:
                    # Not of the element itself: LongCat's list of two attention modules is no list of blocks.
                    self._block.update({inner: element for inner in element.modules() if inner is not element})
        self._vectors: dict[nn.Module, tuple[Tensor, int]] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Watch what the blocks are called with, for as long as the `with` block lasts."""
        blocks = dict.fromkeys(self._block.values())
        try:
            with hooked(block.register_forward_pre_hook(self._keep, with_kwargs=True) for block in blocks):
                yield
        finally:
            self._vectors.clear()

    def of(self, module: nn.Module) -> Float[Tensor, "batch row"] | None:
        """Return the length of what an attention module's block read last, at each row; None where none is known."""
        return self._read(module)[0]

    def width(self, module: nn.Module) -> int:
        """Return how wide the vectors are that an attention module's block read last; 0 where none are known."""
        return self._read(module)[1]

    def _read(self, module: nn.Module) -> tuple[Tensor | None, int]:
        block = self._block.get(module)
        return (None, 0) if block is None else self._vectors.get(block, (None, 0))

    def _keep(self, block: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._vectors.pop(block, None)
        numbers = (
            each for each in (*arguments, *named.values()) if isinstance(each, Tensor) and each.is_floating_point()
        )
        # The first: where that is no vector a token (Gemma 3n's stream is four), what comes behind it is no stream.
        if (first := next(numbers, None)) is not None and first.ndim == 3:
            self._vectors[block] = torch.linalg.vector_norm(first.detach().float(), dim=-1), first.shape[-1]
