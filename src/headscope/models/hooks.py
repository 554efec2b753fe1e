"""Hooks on a model's modules, removed when a block ends, however it ends."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from torch.utils.hooks import RemovableHandle


@contextmanager
def hooked(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Keep hooks inside the `with` block.

    Args:
        handles: handles of the registered hooks; best a generator, so that an error in registering one removes the
            earlier ones.
    """
    with ExitStack() as hooks:
        for handle in handles:
            hooks.enter_context(handle)
        yield
