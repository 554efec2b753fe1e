"""Passes that begin at a block of a model: the blocks below return what they returned in an earlier pass.

Nothing of a model is re-implemented: its own forward is called, and a block that is passed over answers at once with
what it returned before. Blocks are counted by calls, so that a module that serves several layers is as many blocks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import nn

from headscope.attention.interventions.without_graph import without_graph


class BlockReplay:
    """What each block of a model returned in one pass, for later passes of the same inputs.

    Args:
        modules: the blocks, each once.

    Attributes:
        block: which call of a block is under way, from 0; None outside of blocks.
        computed: how many calls of blocks were computed so far, for who counts passes.
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
        """How many calls of blocks the recorded pass had."""
        return len(self._returned)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand before the blocks' forward methods for as long as the `with` block lasts."""
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
        """Keep what the blocks return in the next pass, of which all are computed."""
        self._first, self._next, self._returned = None, 0, []

    def replay(self, first: int) -> None:
        """Compute the blocks from one on in the next pass; those before it return what was recorded."""
        self._first, self._next = first, 0

    def _call(self, forward: Any, *arguments: Any, **named: Any) -> Any:
        if self.block is not None:  # a block within a block is a part of it
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
