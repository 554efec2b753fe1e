"""Compile functions with torch.compile without a shared cache of compiled code.

torch keeps compiled code in the shared temporary folder, in a folder whose name anybody can guess, and runs the code
that it finds there: another user of the machine who creates that folder first could run code as the caller.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import torch

from headscope.storage.environment import environment

_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
# Precompiled headers are stored in torch's default folder, whatever the environment says. Older versions of torch lack
# the option, and precompile none.
_HEADERS = "cpp_cache_precompile_headers"


def compiled(function: Callable[..., Any], *, most_kinds: int) -> Callable[..., Any]:
    """Return a function that torch.compile compiles, whose code is kept in a private folder until the process ends.

    Args:
        function: the function to compile; its whole graph must compile.
        most_kinds: maximum number of kinds of arguments that it is compiled for.
    """
    with _private_folders():
        fast: Callable[..., Any] = torch.compile(function, fullgraph=True)

    def compute(*arguments: object) -> Any:
        # `torch.compile` has an argument for the limit only since torch 2.13.
        with _private_folders(), torch._dynamo.config.patch(recompile_limit=most_kinds):
            return fast(*arguments)

    return compute


@contextmanager
def _private_folders() -> Iterator[None]:
    """Make torch and triton use this process's own folder; otherwise torch writes its default into the environment."""
    with environment(dict.fromkeys(_FOLDERS, _folder().name)):
        from torch._inductor import config  # this import creates the folder named in the environment

        with config.patch({_HEADERS: False} if hasattr(config, _HEADERS) else {}):
            yield


@cache
def _folder() -> "TemporaryDirectory[str]":
    """Make a folder that only its owner can read or write (mode 0700); it is removed when the process ends."""
    return TemporaryDirectory(prefix="headscope-compiled-", ignore_cleanup_errors=True)
