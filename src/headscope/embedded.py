"""The packages beside the library that hold a model each: named here, and imported when one is asked for."""

from importlib import import_module
from types import ModuleType

EMBEDDED = "headscope-minilm"
"""The model where none is named; its package holds the demonstration's corpora too."""
EMBEDDED_MODELS = (EMBEDDED, "headscope-decoder")
"""Models that packages of these names hold, as `headscope_decoder` does; their modules have `folder()`."""


def embedded_package(name: str = EMBEDDED) -> ModuleType:
    """Import the package that holds a model, by the model's name.

    Raises:
        ImportError: it is not installed.
    """
    return import_module(name.replace("-", "_"))
