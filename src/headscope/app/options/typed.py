"""Options as they are typed: parameters of typer, made of what is declared, that check what they are given."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from headscope.app.options.beside_run import QUIET, RUN
from headscope.declarations.option import GROUPS, Option, choose, options_of
from headscope.declarations.run_options import RunOptions
from headscope.errors import OptionError

Function = TypeVar("Function", bound=Callable[..., None])


def info(option: Option) -> Any:
    """Return what typer is told of an option beside its type."""
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
    """Return what help writes for a value: its choices, or what kind of thing it is."""
    if option.choices:
        return f"[{'|'.join(option.choices)}]"
    if option.kind is bool:
        return None
    if option.holds:
        return "FILE"
    if option.kind in (Path, Path | None):
        return "PATH"
    return "N" if option.kind in (int, int | None) else "NAME"


def _checking(option: Option) -> Callable[[Any], Any] | None:
    """Return what refuses a typed value that is none of an option's choices."""

    def check(value: Any) -> Any:
        for each in (value or ()) if option.default == () else (value,):
            if each != option.default:
                choose(option.flag, each, option.choices)
        return value

    return check if option.choices else None


def parameter(option: Option) -> Parameter:
    """Return an option as typer takes it from a function's signature: its type, and what it is when not given."""
    kind, default = option.kind, option.default
    if option.none:
        kind, default = str, option.none
    elif default == ():
        kind, default = list[str] | None, None
    annotation: Any = Annotated[kind, info(option)]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


# For commands that take them as parameters of their own.
Model = Annotated[str | None, info(RUN["model"])]
Revision = Annotated[str | None, info(RUN["revision"])]
Packing = Annotated[str, info(RUN["packing"])]
MaxLength = Annotated[int, info(RUN["max_length"])]
TooLong = Annotated[str, info(RUN["too_long"])]
BatchSize = Annotated[str, info(RUN["batch_size"])]
Device = Annotated[str, info(RUN["device"])]
Dtype = Annotated[str, info(RUN["dtype"])]
Seed = Annotated[int, info(RUN["seed"])]
MaxInputs = Annotated[int | None, info(RUN["max_inputs"])]
Documents = Annotated[str, info(RUN["documents"])]
Column = Annotated[str | None, info(RUN["column"])]
Quiet = Annotated[bool, info(QUIET)]
# Text as one types it, beside --text.
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Text to read, as --text takes it.", show_default=False),
]
Bundle = Annotated[
    bool,
    typer.Option("--bundle", help="Also write OUT.zip: page, atlas, figures and tables, one file to send."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands at the output's place.")]


def takes(*options: Option, files: bool = False) -> Callable[[Function], Function]:
    """Give a command options; they reach it as keyword arguments.

    Args:
        *options: that it takes.
        files: whether text may be typed without an option too; `run_options` adds it to that of `--text`.
    """
    typed = [Parameter("files", Parameter.KEYWORD_ONLY, default=None, annotation=Files)] if files else []

    def decorate(command: Function) -> Function:
        declared = [p for p in signature(command).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        every = sorted([*typed, *declared, *map(parameter, options)], key=lambda each: each.kind)
        command.__signature__ = Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in every} | {"return": None}
        return command

    return decorate


def run_options(declaring: type[RunOptions] = RunOptions, **values: Any) -> RunOptions:
    """Put the options of a run together.

    Args:
        declaring: what they are options of.
        **values: as they were typed; `files` stand before those of `text`.
    """
    if files := values.pop("files", None):
        values["text"] = [*files, *(values["text"] or ())]
    for name, each in options_of(declaring).items():
        if name in values and each.none:
            values[name] = _number(each, values[name])
        elif name in values and each.default == ():
            values[name] = tuple(values[name] or ())
    return declaring(**values)


def _number(option: Option, value: str) -> int | None:
    if value == option.none:
        return None
    # Python reads no number of thousands of digits.
    if value.isdecimal() and len(value) < 10 and int(value) >= (option.least or 0):
        return int(value)
    raise OptionError(
        f"{option.flag} {value!r} is not known; give a number from {option.least}, or {option.none}"
    )
