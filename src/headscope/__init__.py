"""headscope: what do the attention heads of this transformer look at?

>>> import headscope as hs
>>> study = hs.report(text="my.txt")           # the embedded model; returns a Study
>>> study["entropy"].sel(layer=1, head=8)      # a labeled array

Importing the package loads nothing heavy: torch, transformers and matplotlib come when they are used.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headscope.installing import __version__

if TYPE_CHECKING:
    from headscope.app.api import (
        attention,
        head_atlas,
        head_view,
        heatmap,
        matrix_view,
        model_view,
        neuron_view,
        open_study,
        prune,
        report,
        scan,
    )
    from headscope.attention.head_id import HeadId
    from headscope.corpora.reading import read_corpus
    from headscope.errors import HeadscopeError
    from headscope.models.load_model import load_model
    from headscope.present.study import Study
    from headscope.scans.declarations.user_functions import TextFeature
    from headscope.statistics.sums.accumulator import Accumulator

# Modules of public names, which are imported when a name is used; all other names are in `_API`.
_API = "headscope.app.api"
_ELSEWHERE = {
    "Accumulator": "headscope.statistics.sums.accumulator",
    "HeadId": "headscope.attention.head_id",
    "HeadscopeError": "headscope.errors",
    "Study": "headscope.present.study",
    "TextFeature": "headscope.scans.declarations.user_functions",
    "load_model": "headscope.models.load_model",
    "read_corpus": "headscope.corpora.reading",
}
__all__ = [
    "Accumulator",
    "HeadId",
    "HeadscopeError",
    "Study",
    "TextFeature",
    "__version__",
    "attention",
    "head_atlas",
    "head_view",
    "heatmap",
    "load_model",
    "matrix_view",
    "model_view",
    "neuron_view",
    "open_study",
    "prune",
    "read_corpus",
    "report",
    "scan",
]


def _commands() -> list[str]:
    """Return the names of the analyses' commands, which are functions too: `hs.syntax`, `hs.probes` ..."""
    from headscope.scans.declarations.analysis_list import ANALYSES

    return [each.command.name.replace("-", "_") for each in ANALYSES if each.command is not None]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(_ELSEWHERE.get(name, _API)), name)
    if not name.startswith("_") and name in _commands():
        return import_module("headscope.app.analysis_functions").FUNCTIONS[name]
    raise AttributeError(f"module 'headscope' has no attribute {name!r}; it has {', '.join(__dir__())}")


class _CallableFolder(ModuleType):
    """A package module that can be called like the public function of its name: `hs.attention(text)`.

    Importing anything from `headscope.attention` puts the module where the function would be.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    @property
    def _function(self) -> Any:
        return getattr(import_module(_API), self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> Any:
        return self._function.__signature__

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self._function.__doc__


import_module("headscope.attention").__class__ = _CallableFolder


def __dir__() -> list[str]:
    return sorted([*__all__, *_commands()])
