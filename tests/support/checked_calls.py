"""Every call inside the library and the trainer is checked against its annotations, arrays with their shapes."""

from importlib.util import find_spec
from pathlib import Path

from beartype import BeartypeConf, BeartypeDecorPlace
from beartype.claw import beartype_packages
from jaxtyping import install_import_hook

PACKAGES = ("headscope", "headscope_train")
# Where beartype does not do alone: shapes; names and subscripts that only type checkers know; and coroutines, which it
# lets be called without arguments, so that uvicorn takes an app for a maker of apps.
_WORDS = ("jaxtyping", "TYPE_CHECKING", "UnraisableHookArgs", "Series[", "async def")


def modules_with_shapes() -> list[str]:
    """Name the modules whose annotations need jaxtyping."""
    return [
        ".".join((package, *path.relative_to(root).with_suffix("").parts))
        for package in PACKAGES
        for root in [_root_of(package)]
        for path in sorted(root.rglob("*.py"))
        if path.name != "__init__.py" and any(word in path.read_text(encoding="utf-8") for word in _WORDS)
    ]


def _root_of(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def check_calls() -> None:
    """Install what checks; before the packages are imported.

    jaxtyping binds every call's arguments anew, which doubles what a run takes: only the modules that need it pay.
    """
    # Innermost, so that what others decorate (dataclasses) is theirs.
    innermost = BeartypeDecorPlace.FIRST
    beartype_packages(
        PACKAGES,
        conf=BeartypeConf(
            claw_is_pep526=False, claw_decor_place_func=innermost, claw_decor_place_type=innermost
        ),
    )
    install_import_hook(modules_with_shapes(), "beartype.beartype")
