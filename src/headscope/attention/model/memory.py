"""Errors for memory that runs out while a model computes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from headscope.errors import MemoryShortError

_HOST = "DefaultCPUAllocator"  # the allocator raises a plain RuntimeError


@contextmanager
def memory_in_words(inputs: int, tokens: int) -> Iterator[None]:
    """Turn an allocator's error into one that says what to do, and how many inputs were computed together.

    Args:
        inputs: number of inputs in the batch.
        tokens: number of tokens in the longest input.

    Raises:
        MemoryShortError: memory ran out in the block.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and _HOST not in str(error):
            raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        together = f"{inputs} inputs of up to {tokens:,} tokens" if inputs > 1 else f"an input of {tokens:,} tokens"
        raise MemoryShortError(
            f"there is no memory for {together}; choose a smaller --batch-size or --max-length, --dtype bfloat16, or "
            "--device-map auto for a model that fills the device",
            inputs=inputs,
        ) from error
