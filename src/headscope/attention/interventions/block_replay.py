"""Passes that begin at a block of a model: earlier blocks return their outputs of a previous pass."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn


def without_graph(returned: Any) -> Any:
    """Return the same numbers without a gradient graph; values without tensors are returned unchanged.

    Args:
        returned: a tensor, or several in a tuple, a list or an output of transformers.
    """
    if isinstance(returned, Tensor):
        return returned.detach() if returned.requires_grad else returned
    if type(returned) in (tuple, list):
        return type(returned)(without_graph(each) for each in returned)
    if isinstance(returned, Mapping):
        return type(returned)(**{name: without_graph(each) for name, each in returned.items()})
    return returned


class BlockReplay:
    """The outputs of each block of a model in one pass, for later passes of the same inputs.

    Args:
        modules: the blocks, each once.

    Attributes:
        block: number of the block call in progress, from 0; None outside of blocks.
        computed: number of block calls computed so far, for counting passes.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = modules
        self.block: int | None = None
        self.computed = 0
        self._first: int | None = None
        self._next = 0
        self._returned: list[Any] = []

    @property
    def number(self) -> int:
        """Number of block calls in the recorded pass."""
        return len(self._returned)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the blocks' forward methods inside the `with` block."""
        before = {module: module.__dict__.get("forward") for module in self.modules}
        for module in self.modules:
            module.forward = partial(self._call, module.forward)
        try:
            yield
        finally:
            for module, forward in before.items():
                if forward is None:
                    del module.forward
                else:
                    module.forward = forward
            self._returned = []

    def record(self) -> None:
        """Record the outputs of the blocks in the next pass, which computes all blocks."""
        self._first, self._next, self._returned = None, 0, []

    def replay(self, first: int) -> None:
        """Compute the blocks from `first` on in the next pass; earlier blocks return their recorded outputs."""
        self._first, self._next = first, 0

    def _call(self, forward: Any, *arguments: Any, **named: Any) -> Any:
        if self.block is not None:  # a block inside another block belongs to it
            return forward(*arguments, **named)
        number, self._next = self._next, self._next + 1
        if self._first is not None and number < self._first:
            return self._returned[number]
        self.block = number
        try:
            returned = forward(*arguments, **named)
        finally:
            self.block = None
        self.computed += 1
        if self._first is None:
            self._returned.append(without_graph(returned))
        return returned
