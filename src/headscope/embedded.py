"""The packages with an embedded model each: listed here, and imported on demand."""

from importlib import import_module
from types import ModuleType

EMBEDDED = "headscope-minilm"
"""The default model; its package contains the demonstration's corpora too."""
EMBEDDED_MODELS = (EMBEDDED, "headscope-decoder")
"""Models in packages of these names, such as `headscope_decoder`; their modules have `folder()`."""


def embedded_package(name: str = EMBEDDED) -> ModuleType:
    """Import the package of an embedded model, by the model's name.

    Raises:
        ImportError: it is not installed.
    """
    return import_module(name.replace("-", "_"))
