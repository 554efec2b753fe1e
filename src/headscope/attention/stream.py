"""The input of a layer: the residual stream as it enters the block that contains an attention module."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.models.temporary_changes import hooked


class StreamNorms:
    """Norms of the stream vectors that each layer of a model reads, in the current forward pass.

    A block is the innermost element of a list of modules around the attention module (`encoder.layer.3`). Its input is
    its first argument, one vector per token.

    Args:
        model: a transformers model.
    """

    def __init__(self, model: nn.Module) -> None:
        self._block: dict[nn.Module, nn.Module] = {}
        for part in model.modules():  # outer lists come before those inside
            if isinstance(part, nn.ModuleList):
                for element in part:
                    # The element itself is excluded: LongCat's list of two attention modules is not a list of blocks.
                    self._block.update({inner: element for inner in element.modules() if inner is not element})
        self._vectors: dict[nn.Module, tuple[Tensor, int]] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Watch the inputs of the blocks inside the `with` block."""
        blocks = dict.fromkeys(self._block.values())
        try:
            with hooked(block.register_forward_pre_hook(self._keep, with_kwargs=True) for block in blocks):
                yield
        finally:
            self._vectors.clear()

    def of(self, module: nn.Module) -> Float[Tensor, "batch row"] | None:
        """Return the norm of the latest input of an attention module's block at each row; None if it is not known."""
        return self._read(module)[0]

    def width(self, module: nn.Module) -> int:
        """Return the width of the latest input vectors of an attention module's block; 0 if it is not known."""
        return self._read(module)[1]

    def _read(self, module: nn.Module) -> tuple[Tensor | None, int]:
        block = self._block.get(module)
        return (None, 0) if block is None else self._vectors.get(block, (None, 0))

    def _keep(self, block: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._vectors.pop(block, None)
        numbers = (
            each for each in (*arguments, *named.values()) if isinstance(each, Tensor) and each.is_floating_point()
        )
        # Only the first tensor: if it is not one vector per token (Gemma 3n's stream is four), a later one is not the
        # stream.
        if (first := next(numbers, None)) is not None and first.ndim == 3:
            self._vectors[block] = torch.linalg.vector_norm(first.detach().float(), dim=-1), first.shape[-1]
