"""Keyword arguments of Python functions, declared as options: listed by completion and checked with clear errors.

Python reports a wrong argument as a `TypeError` from deep inside; here it is an `OptionError` that says what was
expected, what was given and what to do, as on the command line.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from numbers import Integral
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn, TypeVar, get_args, get_origin

from headscope.errors import OptionError, did_you_mean
from headscope.scans.declarations.option import Option, choose
from headscope.storage.places import exists

Function = TypeVar("Function", bound=Callable[..., Any])
Paths = str | Path | Sequence[str | Path] | None
_LONGEST = 60
_KINDS: dict[type, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    Path: ((str, Path), "a path"),
}
"""The values that an option of a kind accepts, and their description."""


def offering(*options: Option, first: Iterable[Parameter] = (), returns: Any = Any) -> Callable[[Function], Function]:
    """Give a function of `**options` a signature that names them, and put their help at `{options}` in its docstring.

    Args:
        *options: keyword arguments of the function.
        first: parameters before them.
        returns: return annotation.
    """

    def decorate(function: Function) -> Function:
        lines = "\n".join(
            fill(f"{each.name}: {each.help}", 118, initial_indent=" " * 8, subsequent_indent=" " * 12)
            for each in options
        )
        function.__doc__ = (function.__doc__ or "").replace("        {options}", lines)
        every = [*first, *map(_parameter, options)]
        function.__signature__ = Signature(every, return_annotation=returns)  # type: ignore[attr-defined]
        return function

    return decorate


def positional(name: str, kind: Any, default: Any = None) -> Parameter:
    """Return a parameter that may be given by position."""
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


def _parameter(option: Option) -> Parameter:
    listed = option.default == () and option.kind != Sequence[int]
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        default=None if listed else option.default_text or option.default,
        annotation=Paths if listed else option.kind,
    )


def checked(
    called: str, arguments: Mapping[str, Any], options: Iterable[Option], *, before: Iterable[str] = ()
) -> dict[str, Any]:
    """Check keyword arguments against their options; return the values that are not None.

    Args:
        called: name of the function, for messages.
        arguments: names and values of the given arguments.
        options: options of the function.
        before: names of its other parameters, for messages.

    Raises:
        OptionError: an option is unknown, or a value is of another kind.
    """
    known = {each.name: each for each in options}
    for name in arguments:
        if name not in known:
            names = [*before, *known]
            hint = did_you_mean(name, names)
            raise OptionError(f"{called} has no option {name!r}; it has {', '.join(names)}{hint}")
    values = {name: checked_value(known[name], value) for name, value in arguments.items()}
    return {name: value for name, value in values.items() if value is not None}


def check_choices(values: Mapping[str, Any], options: Iterable[Option]) -> None:
    """Raise an error for values that are not among the choices of their options.

    Raises:
        OptionError: a value is unknown; the message lists the choices and the nearest of them.
    """
    for each in options:
        if each.choices and values.get(each.name) is not None:
            choose(each.name, values[each.name], each.choices)


def checked_value(option: Option, value: Any) -> Any:
    """Return an option's value, with numpy numbers and paths converted to Python's own types.

    Raises:
        OptionError: it is of another kind; the message says what was expected.
    """
    if option.kind is Any or (value is None and option.default in (None, ())):
        return option.default if value is None else value
    if option.none and value == option.none:
        return None
    kinds = [kind for kind in get_args(option.kind) or (option.kind,) if kind is not type(None)]
    if get_origin(option.kind) is Sequence or Sequence[int] in kinds:
        return _numbers(option, value)
    if option.default == ():
        return _listed(option, value)
    for kind, (accepted, expected) in _KINDS.items():
        if kind in kinds:
            if not isinstance(value, accepted) or (kind is int and isinstance(value, bool)):
                _refuse(option, value, expected)
            return kind(value)
    if str in kinds and not isinstance(value, str):
        said = f"one of {', '.join(option.choices)}" if option.choices else "text"
        _refuse(option, value, said)
    return value


def _is_whole(value: Any) -> bool:
    """Return True if a value is a whole number, including numpy's, but not True or False."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def _numbers(option: Option, value: Any) -> list[int]:
    single_allowed = int in get_args(option.kind) and get_origin(option.kind) is not Sequence
    if _is_whole(value):
        if single_allowed:
            return [int(value)]
        _refuse(option, value, f"a list of whole numbers, as [{value}]")
    if isinstance(value, str) or not all(_is_whole(each) for each in (value if hasattr(value, "__iter__") else [None])):
        _refuse(option, value, ("a whole number, or " if single_allowed else "") + "a list of whole numbers, as [1, 2]")
    return [int(each) for each in value]


def _listed(option: Option, value: Any) -> tuple[str, ...]:
    if isinstance(value, str | Path):
        return (str(value),)
    if isinstance(value, Sequence) and all(isinstance(each, str | Path) for each in value):
        return tuple(str(each) for each in value)
    _refuse(option, value, "a name, or a list of names" if option.choices else "a path, or a list of paths")


def check_model(model: Any) -> None:
    """Raise an error if a text was given as the model.

    Raises:
        OptionError: a text was given; the message says where to give it.
    """
    if isinstance(model, str) and (len(model.split()) > 1 or "\n" in model) and not exists(model):
        raise OptionError(
            f"model is {short(model)}, which reads like a text; expected a hub name, a folder, or a model; give "
            "the text as text="
        )
    if isinstance(model, list | tuple):
        raise OptionError(
            f"model is a {type(model).__name__}; expected a hub name, a folder, or a model; give texts as text="
        )


def check_text(name: str, value: Any, *, needed: bool = False) -> None:
    """Raise an error if an argument that should be a text is not.

    Raises:
        OptionError: it is not a text, or it is missing though it is required.
    """
    if isinstance(value, str) or (value is None and not needed):
        return
    what = "missing" if value is None else f"a {type(value).__name__}"
    raise OptionError(f"{name} is {what}; expected one text, as a string")


def short(value: Any) -> str:
    """Return a value as it would be typed, shortened if it is long."""
    text = repr(value) if not isinstance(value, str) else f"'{' '.join(value.split())}'"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _refuse(option: Option, value: Any, expected: str) -> NoReturn:
    what = short(value) if isinstance(value, str | int | float | list | tuple) else f"a {type(value).__name__}"
    raise OptionError(f"{option.name} is {what}; expected {expected}")
