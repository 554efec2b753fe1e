"""Hooks on a model's modules, removed when a block ends, however it ends."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from torch.utils.hooks import RemovableHandle


@contextmanager
def hooked(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Keep hooks for as long as the `with` block lasts.

    Args:
        handles: what registering them returns; best a generator, so that an error in registering one removes those
            before it.
    """
    with ExitStack() as hooks:
        for handle in handles:
            hooks.enter_context(handle)
        yield
