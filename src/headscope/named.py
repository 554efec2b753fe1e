"""What a list names and nobody has loaded yet: `module:NAME`, so that listing loads nothing heavy."""

from importlib import import_module
from typing import Any


def load(where: str, *, package: str = "headscope") -> Any:
    """Import what `module:NAME` names, the module counted from a package."""
    module, _, name = where.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)
