"""Compile functions with torch.compile without a shared cache of compiled code.

torch keeps compiled code in a folder of the shared temporary folder whose name anybody can guess, and runs the code
that it finds there: another user of the machine who makes that folder first could run code as the caller.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import torch

from headscope.storage.environment import environment

_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
# Headers that are compiled beforehand lie in torch's default folder, whatever the environment says. Older versions of
# torch lack the option, and compile none.
_HEADERS = "cpp_cache_precompile_headers"


def compiled(function: Callable[..., Any], *, most_kinds: int) -> Callable[..., Any]:
    """Return a function that torch.compile compiles, whose code is kept in a private folder until the process ends.

    Args:
        function: the function to compile; its whole graph must compile.
        most_kinds: how many kinds of arguments it is compiled for.
    """
    with _private_folders():
        fast: Callable[..., Any] = torch.compile(function, fullgraph=True)

    def compute(*arguments: object) -> Any:
        # `torch.compile` takes the limit itself only since torch 2.13.
        with _private_folders(), torch._dynamo.config.patch(recompile_limit=most_kinds):
            return fast(*arguments)

    return compute


@contextmanager
def _private_folders() -> Iterator[None]:
    """Let torch and triton use this process's own folder; torch writes its default into the environment otherwise."""
    with environment(dict.fromkeys(_FOLDERS, _folder().name)):
        from torch._inductor import config  # which makes the folder that the environment names

        with config.patch({_HEADERS: False} if hasattr(config, _HEADERS) else {}):
            yield


@cache
def _folder() -> "TemporaryDirectory[str]":
    """Make a folder that only its owner can read or write (mode 0700); it is removed when the process ends."""
    return TemporaryDirectory(prefix="headscope-compiled-", ignore_cleanup_errors=True)
