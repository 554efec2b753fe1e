"""Check every call inside the library and the trainer against its annotations, arrays with their shapes."""

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
# Modules with these words are beyond beartype alone: names and subscripts that only type checkers know, and
# coroutines, which beartype lets callers call without arguments, so that uvicorn takes an app for an app factory.
_BEYOND_BEARTYPE = ("TYPE_CHECKING", "UnraisableHookArgs", "Series[", "async def")


def modules_with_shapes() -> list[str]:
    """Return the names of the modules whose annotations need jaxtyping."""
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
    """Install the checks; this must happen before the packages are imported.

    jaxtyping alone binds every call's arguments and checks them twice, which doubles the duration of a run. So
    beartype checks calls, and jaxtyping's scope of axis names is opened only where a function's annotations have
    axes.
    """
    # The check is the innermost decorator, so that other decorators (dataclasses) wrap the checked function.
    innermost = BeartypeDecorPlace.FIRST
    beartype_packages(
        PACKAGES,
        conf=BeartypeConf(claw_is_pep526=False, claw_decor_place_func=innermost, claw_decor_place_type=innermost),
    )
    beyond = set(_modules_with(*_BEYOND_BEARTYPE))
    jaxtyping.jaxtyped = partial(_decorator, beyond=beyond)  # the import hook looks the decorator up by this name
    install_import_hook(modules_with_shapes(), "beartype.beartype")


def _decorator(*, typechecker: Any, beyond: set[str]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        alone = function.__module__ in beyond
        return jaxtyped(function, typechecker=typechecker) if alone else checked(function)

    return decorate


def checked(function: Any) -> Any:
    """Return the function with checked calls, in which axes of one name must have the same size.

    Args:
        function: the function, or a class; a dataclass's `__init__` is checked.
    """
    if inspect.isclass(function):
        if dataclasses.is_dataclass(function):
            function.__init__ = checked(function.__init__)  # type: ignore[misc]
        return function
    has_shapes = _SHAPES in repr(function.__annotations__)
    if has_shapes and inspect.isgeneratorfunction(function):
        return jaxtyped(
            function, typechecker=beartype
        )  # beartype checks the arguments of a generator at its first step
    with_types = beartype(function, conf=BeartypeConf(violation_type=TypeError))
    if not has_shapes:
        return with_types

    @wraps(function)
    def in_scope(*args: Any, **named: Any) -> Any:
        with jaxtyped("context"):
            return with_types(*args, **named)

    return in_scope
