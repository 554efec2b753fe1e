"""Training of a model for attention analysis, with checkpoints along the way that reports can read.

>>> from headscope_train import train
>>> training = train(text="my.txt", size="2x2x32", out="tiny")
>>> studies = {step: hs.report(model, text="my.txt") for step, model in training.checkpoints.items()}

Importing the package does not import heavy libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope_train.training_run import Training, train

__all__ = ["Training", "train"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("headscope_train.training_run"), name)
    raise AttributeError(f"module 'headscope_train' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
