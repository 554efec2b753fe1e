"""What a layer reads: the residual stream as it comes into the block that an attention module stands in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn


class StreamNorms:
    """How long the stream's vectors are that each layer of a model reads, for the forward pass under way.

    A block is the innermost element of a list of modules that holds the attention module (`encoder.layer.3`), and
    what it reads is its first argument of one vector a token.

    Args:
        model: a transformers model.
    """

    def __init__(self, model: nn.Module) -> None:
        self._block: dict[nn.Module, nn.Module] = {}
        for part in model.modules():  # outer lists come before those inside
            if isinstance(part, nn.ModuleList):
                for element in part:
                    self._block.update(dict.fromkeys(element.modules(), element))
        self._norms: dict[nn.Module, Tensor] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Watch what the blocks are called with, for as long as the `with` block lasts."""
        hooks = [
            block.register_forward_pre_hook(self._keep, with_kwargs=True)
            for block in dict.fromkeys(self._block.values())
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            self._norms.clear()

    def of(self, module: nn.Module) -> Float[Tensor, "batch row"] | None:
        """Return the length of what an attention module's block read last, at each row; None where none is known."""
        block = self._block.get(module)
        return None if block is None else self._norms.get(block)

    def _keep(self, block: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        for each in (*given, *named.values()):
            if isinstance(each, Tensor) and each.is_floating_point() and each.ndim == 3:
                self._norms[block] = torch.linalg.vector_norm(each.detach().float(), dim=-1)
                return
