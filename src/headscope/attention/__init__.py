"""From a model to a stream of attention tiles; called, as `hs.attention(text)`, attention as a labeled array."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Called(ModuleType):
    """This folder as a module that can be called: `headscope.attention` is its name and that of the function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Return attention as a labeled array; see `headscope.app.api.attention`."""
        return self._function(*arguments, **options)

    @property
    def _function(self) -> Any:
        # By its name: what is called stands to the right of what it calls.
        return import_module("headscope.app.api").attention

    @property
    def __signature__(self) -> Any:
        return self._function.__signature__


sys.modules[__name__].__class__ = _Called
