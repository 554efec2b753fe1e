"""Every call inside the library and the trainer is checked against its annotations, arrays with their shapes."""

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jaxtyping
from beartype import BeartypeConf, BeartypeDecorPlace, beartype
from beartype.claw import beartype_packages
from jaxtyping import install_import_hook, jaxtyped

PACKAGES = ("headscope", "headscope_train")
_SHAPES = "jaxtyping"
# Where beartype does not do alone: names and subscripts that only type checkers know; and coroutines, which it lets be
# called without arguments, so that uvicorn takes an app for a maker of apps.
_BEYOND_BEARTYPE = ("TYPE_CHECKING", "UnraisableHookArgs", "Series[", "async def")


def modules_with_shapes() -> list[str]:
    """Name the modules whose annotations need jaxtyping."""
    return _modules_with(_SHAPES, *_BEYOND_BEARTYPE)


def _modules_with(*words: str) -> list[str]:
    return [
        ".".join((package, *path.relative_to(root).with_suffix("").parts))
        for package in PACKAGES
        for root in [_root_of(package)]
        for path in sorted(root.rglob("*.py"))
        if path.name != "__init__.py" and any(word in path.read_text(encoding="utf-8") for word in words)
    ]


def _root_of(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def check_calls() -> None:
    """Install what checks; before the packages are imported.

    jaxtyping alone binds every call's arguments and checks them twice, which doubles what a run takes: beartype checks
    calls, and jaxtyping's scope of names of axes is opened where a function's annotations have any.
    """
    # Innermost, so that what others decorate (dataclasses) is theirs.
    innermost = BeartypeDecorPlace.FIRST
    beartype_packages(
        PACKAGES,
        conf=BeartypeConf(claw_is_pep526=False, claw_decor_place_func=innermost, claw_decor_place_type=innermost),
    )
    beyond = set(_modules_with(*_BEYOND_BEARTYPE))
    jaxtyping.jaxtyped = partial(_decorator, beyond=beyond)  # by that name its hook decorates functions
    install_import_hook(modules_with_shapes(), "beartype.beartype")


def _decorator(*, typechecker: Any, beyond: set[str]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        alone = function.__module__ in beyond
        return jaxtyped(function, typechecker=typechecker) if alone else checked(function)

    return decorate


def checked(function: Any) -> Any:
    """Let calls of a function be checked, the sizes of axes of one name against each other.

    Args:
        function: or a class, whose `__init__` it is where it is a dataclass.
    """
    if inspect.isclass(function):
        if dataclasses.is_dataclass(function):
            function.__init__ = checked(function.__init__)  # type: ignore[misc]
        return function
    has_shapes = _SHAPES in repr(function.__annotations__)
    if has_shapes and inspect.isgeneratorfunction(function):
        return jaxtyped(function, typechecker=beartype)  # beartype looks at what one is given when it first goes on
    with_types = beartype(function, conf=BeartypeConf(violation_type=TypeError))
    if not has_shapes:
        return with_types

    @wraps(function)
    def in_scope(*args: Any, **named: Any) -> Any:
        with jaxtyped("context"):
            return with_types(*args, **named)

    return in_scope
