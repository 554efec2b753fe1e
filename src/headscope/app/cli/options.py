"""The options that mean the same in every command, made of what `RunOptions` declares of them."""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from headscope.app.cli.help_pages import PANELS
from headscope.declarations.option import Option, choose, options_of
from headscope.declarations.run_options import RunOptions
from headscope.errors import OptionError

OPTIONS = options_of(RunOptions)
# These options exist on the command line alone.
QUIET = Option(
    name="quiet", kind=bool, default=False, flags=("--quiet", "-q"), group="machine", help="Show no progress."
)
OUT = Option(
    name="out",
    kind=Path | None,
    flags=("--out", "-o"),
    group="output",
    help="Folder for all tables (tables/*.parquet) and the manifest: new, empty, or of the same run.",
)
_GROUPS = tuple(PANELS)
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
        rich_help_panel=PANELS[option.group],
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
Model = Annotated[str | None, info(OPTIONS["model"])]
Revision = Annotated[str | None, info(OPTIONS["revision"])]
Packing = Annotated[str, info(OPTIONS["packing"])]
MaxLength = Annotated[int, info(OPTIONS["max_length"])]
TooLong = Annotated[str, info(OPTIONS["too_long"])]
BatchSize = Annotated[str, info(OPTIONS["batch_size"])]
Device = Annotated[str, info(OPTIONS["device"])]
Dtype = Annotated[str, info(OPTIONS["dtype"])]
Seed = Annotated[int, info(OPTIONS["seed"])]
MaxInputs = Annotated[int | None, info(OPTIONS["max_inputs"])]
Documents = Annotated[str, info(OPTIONS["documents"])]
Column = Annotated[str | None, info(OPTIONS["column"])]
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


def in_order(options: Iterable[Option], *, first: Iterable[str] = ()) -> list[Option]:
    """Return options as help lists them: some first, then corpora, the model, what is measured, the machine.

    Args:
        options: in the order of their fields, which they keep within a group.
        first: names of those that come first.
    """
    by_name = {each.name: each for each in options}
    head = [by_name.pop(name) for name in first]
    return [*head, *sorted(by_name.values(), key=lambda each: _GROUPS.index(each.group))]


def takes(*options: Option, files: bool = False) -> Callable[[Function], Function]:
    """Give a command options; they reach it as keyword arguments.

    Args:
        *options: that it takes.
        files: whether text may be typed without an option too; `with_files` puts it to that of `--text`.
    """
    typed = [Parameter("files", Parameter.KEYWORD_ONLY, default=None, annotation=Files)] if files else []

    def decorate(command: Function) -> Function:
        declared = [p for p in signature(command).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        every = sorted([*typed, *declared, *map(parameter, options)], key=lambda each: each.kind)
        command.__signature__ = Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in every} | {"return": None}
        return command

    return decorate


def with_files(values: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed with the files that came without an option before those of `--text`."""
    files = values.pop("files", None)
    return {**values, "text": [*files, *(values["text"] or ())]} if files else values


def read_batch_size(value: str) -> int | None:
    """Read `--batch-size`: a number from 1, or None for `auto`.

    Raises:
        OptionError: neither.
    """
    if value == "auto":
        return None
    # Python reads no number of thousands of digits.
    if value.isdecimal() and len(value) < 10 and int(value) > 0:
        return int(value)
    raise OptionError(f"--batch-size {value!r} is not known; give a number from 1, or auto")


def check_choices(values: Mapping[str, Any], options: Iterable[Option]) -> None:
    """Refuse what is none of an option's choices, as far as it was given.

    Raises:
        OptionError: names the choices, and the nearest of them.
    """
    for option in options:
        value = values.get(option.name, option.default)
        for each in (value or ()) if option.default == () else (value,):
            if option.choices and each != option.default:
                choose(option.flag, each, option.choices)


def run_options(declaring: type[RunOptions] = RunOptions, **values: Any) -> RunOptions:
    """Check the options of a run and put them together.

    Args:
        declaring: what they are options of.
        **values: as they were typed.

    Raises:
        OptionError: a value is not known; names the known ones.
    """
    options = options_of(declaring)
    values["batch_size"] = read_batch_size(values["batch_size"])
    check_choices(values, options.values())
    for name, each in options.items():
        if each.default == () and name in values:
            values[name] = tuple(values[name] or ())
    return declaring(**values)
