"""Options on the command line: parameters of typer, made from the declarations, that check their values."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from headscope.errors import OptionError
from headscope.scans.declarations.option import GROUPS, Option, choose, options_of

Function = TypeVar("Function", bound=Callable[..., None])
Declared = TypeVar("Declared")


def info(option: Option) -> Any:
    """Return typer's declaration of an option, apart from its type."""
    opposite = f"/--no-{option.flag[2:]}" if option.kind is bool and option.default else ""
    default = option.none or option.default
    return typer.Option(
        *(option.flags or (option.flag + opposite,)),
        help=option.help,
        min=option.least if option.least_typed and not option.none else None,
        show_default=option.default_text or default not in (None, ()),
        metavar=_placeholder(option),
        rich_help_panel=GROUPS[option.group],
        callback=_checking(option),
    )


def _placeholder(option: Option) -> str | None:
    """Return the placeholder for a value in help: its choices, or its kind."""
    if option.placeholder:
        return option.placeholder
    if option.choices:
        return f"[{'|'.join(option.choices)}]"
    if option.kind is bool:
        return None
    if option.holds:
        return "FILE"
    if option.kind in (Path, Path | None):
        return "PATH"
    return "N" if option.kind in (int, int | None, float, float | None) else "NAME"


def _checking(option: Option) -> Callable[[Any], Any]:
    """Return a function that converts a value as it was typed, and raises an error for one outside the choices."""

    def check(value: Any) -> Any:
        if option.none:
            return _number(option, value)
        for each in (value or ()) if option.default == () else (value,):
            if option.choices and each != option.default:
                choose(option.flag, each, option.choices)
        return value

    return check


def _number(option: Option, value: str) -> int | None:
    if value == option.none:
        return None
    # Python cannot parse a number with thousands of digits.
    if value.isdecimal() and len(value) < 10 and int(value) >= (option.least or 0):
        return int(value)
    raise OptionError(f"{option.flag} {value!r} is not known; give a number from {option.least}, or {option.none}")


def parameter(option: Option) -> Parameter:
    """Return an option as a parameter for typer: its type and its default."""
    kind, default = option.kind, option.default
    if option.none:
        kind, default = str, option.none if default is None else str(default)
    elif default == ():
        kind, default = list[str] | None, None
    if option.required:
        default = Parameter.empty
    annotation: Any = Annotated[kind, info(option)]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def argument(metavar: str, help_text: str, *, group: str) -> Any:
    """Return typer's declaration of a positional argument.

    Args:
        metavar: name in help.
        help_text: help in a sentence.
        group: one of `GROUPS`.
    """
    return typer.Argument(metavar=metavar, help=help_text, rich_help_panel=GROUPS[group])


# Text files as positional arguments, in addition to --text.
Files = Annotated[list[str] | None, argument("FILE", "Text to read, as --text takes it.", group="corpora")]
# Models as positional arguments, in addition to their options.
Models = Annotated[
    list[str] | None, argument("MODEL", "Models to compare, in place of --model and --other.", group="model")
]


def takes(*options: Option, files: bool = False, models: bool = False) -> Callable[[Function], Function]:
    """Give a command options; they reach it as keyword arguments, whether it names them or takes `**values`.

    Args:
        *options: options of the command.
        files: whether text may also be given by positional arguments; `run_options` adds it to that of `--text`.
        models: whether positional arguments are models; they reach the command as `models`.
    """
    typed = [Parameter("files", Parameter.KEYWORD_ONLY, default=None, annotation=Files)] if files else []
    if models:
        typed = [Parameter("models", Parameter.KEYWORD_ONLY, default=None, annotation=Models)]

    def decorate(command: Function) -> Function:
        taken = [*typed, *map(parameter, options)]
        names = {each.name for each in taken}
        arguments = [
            each
            for each in signature(command).parameters.values()
            if each.kind is not Parameter.VAR_KEYWORD and each.name not in names
        ]
        every = sorted([*arguments, *taken], key=lambda each: each.kind)
        command.__signature__ = Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in every} | {"return": None}
        return command

    return decorate


def run_options(declaring: type[Declared], **values: Any) -> Declared:
    """Build the options of a run, or of a training.

    Args:
        declaring: class of the options.
        **values: values as they were typed; `files` come before those of `text`.

    Raises:
        HeadscopeError: an option is invalid, or a named file or folder does not exist.
    """
    if files := values.pop("files", None):
        values["text"] = [*files, *(values["text"] or ())]
    for name, each in options_of(declaring).items():
        if name in values and each.default == ():
            values[name] = tuple(values[name] or ())
    options = declaring(**values)
    from headscope.scans.prepare.given_names import check_option_names

    check_option_names(options)
    return options
