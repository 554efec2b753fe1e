"""Every call inside the package is checked against its annotations, those of arrays with their shapes."""

from importlib.util import find_spec
from pathlib import Path

from beartype import BeartypeConf
from beartype.claw import beartype_package
from jaxtyping import install_import_hook

PACKAGE = "headscope"
# Shapes, which beartype alone cannot read; names that only type checkers know, functions that numba must see as they
# are, and calls that a server must know for coroutines: over all of these it stumbles.
_WORDS = ("jaxtyping", "TYPE_CHECKING", "UnraisableHookArgs", "numba", "async def __call__")


def modules_with_shapes() -> list[str]:
    """Name the modules whose annotations need jaxtyping."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    return [
        ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts))
        for path in sorted(root.rglob("*.py"))
        if path.name != "__init__.py" and any(word in path.read_text(encoding="utf-8") for word in _WORDS)
    ]


def check_calls() -> None:
    """Install what checks; before the package is imported.

    jaxtyping binds every call's arguments anew, which doubles what a run takes: only the modules that need it pay.
    """
    beartype_package(PACKAGE, conf=BeartypeConf(claw_is_pep526=False))
    install_import_hook(modules_with_shapes(), "beartype.beartype")
