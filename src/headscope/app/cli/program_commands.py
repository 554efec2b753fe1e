"""Commands with their headings and help, those of other packages included, and checks of a command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import typer
import typer.core

from headscope.errors import OptionError
from headscope.installing import how_to_install_companion, installed
from headscope.scans.declarations.option import GROUPS
from headscope.visible import without_middle

GROUP = "headscope.commands"
HEADINGS = ("Start", "Measure", "Compare", "Scale", "Publish", "Train", "More")
"""The headings of commands, in the order of `headscope --help`."""


@dataclass(frozen=True, kw_only=True)
class ProgramCommand:
    """A command of the program.

    Attributes:
        name: name as it is typed.
        heading: heading in `headscope --help`, one of `HEADINGS`.
        function: function that typer runs; its parameters are the options, and its docstring is the help.
        takes_anything: whether undeclared options are ignored.
    """

    name: str
    function: Callable[..., None]
    heading: str = "More"
    takes_anything: bool = False

    def __post_init__(self) -> None:
        if self.heading not in HEADINGS:
            raise ValueError(f"heading {self.heading!r} is not known; choose one of {', '.join(HEADINGS)}")

    def add_to(self, program: typer.Typer, *, shown_by: type[typer.core.TyperCommand]) -> None:
        """Add the command to a program."""
        lenient = {"allow_extra_args": True, "ignore_unknown_options": True} if self.takes_anything else {}
        program.command(
            self.name, help=self.function.__doc__, cls=shown_by, context_settings=lenient, rich_help_panel=self.heading
        )(self.function)


def commands_of_packages(*, taken: frozenset[str]) -> tuple[ProgramCommand, ...]:
    """Return the commands of installed packages; a missing `train` is replaced by a hint on how to install it.

    Args:
        taken: names of the commands that exist already.

    Raises:
        ExtensionError: a package's command cannot be loaded, or has the name of another.
    """
    commands = installed(GROUP, ProgramCommand, taken=taken)
    if any(command.name == "train" for command in commands):
        return commands
    return (*commands, ProgramCommand(name="train", heading="Train", function=missing_trainer, takes_anything=True))


def missing_trainer() -> None:
    """Train a model further, or a small one from scratch (a package of its own, headscope-train)."""
    raise OptionError(
        f"headscope train is a package of its own, headscope-train; {how_to_install_companion('headscope-train')}"
    )


_INDENT = 6
"""Width that click leaves empty before and between the two columns of a list."""
# Newer versions of typer include click, older ones import it; the base of this class is the right one in both.
_UsageError: Any = typer.BadParameter.__mro__[1]
# These options have more specific checks of an empty text.
_MAY_BE_EMPTY = ("--model", "--bert-dir", "--text-b", "--decoder-text")
_LONGEST = 400  # characters of a message


class GroupedProgram(typer.core.TyperGroup):
    """The program, whose help lists its commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, grouped by heading."""
        names = self.list_commands(ctx)
        longest = max(map(len, names))
        records: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            command: Any = self.get_command(ctx, name)
            line = command.get_short_help_str(formatter.width - longest - _INDENT)
            records.setdefault(command.rich_help_panel, []).append((name.ljust(longest), line))
        for heading, lines in records.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


class GroupedCommand(typer.core.TyperCommand):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, grouped by heading."""
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS.values()}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                records[panel_of(parameter)].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def panel_of(parameter: Any) -> str:
    """Return the heading under which an option is listed."""
    # Click's own option, `--help`, has no heading.
    otherwise = GROUPS["machine" if parameter.name == "help" else "other"]
    return str(getattr(parameter, "rich_help_panel", None) or otherwise)


def run(app: typer.Typer, arguments: Sequence[str]) -> None:
    """Run a command line; end in `SystemExit` if it succeeds.

    Raises:
        OptionError: a command, option or value is unknown; the message lists the known ones.
    """
    root: Any = typer.main.get_command(app)
    check_values(arguments)
    try:
        with root.make_context("headscope", list(arguments)) as context:
            root.invoke(context)
    except typer.Exit as ended:
        raise SystemExit(ended.exit_code) from None
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message(), err=True)
            raise SystemExit(2) from None
        raise OptionError(sentence(error, [*arguments, ""][0])) from None
    raise SystemExit(0)


def check_values(arguments: Sequence[str]) -> None:
    """Raise an error for an empty value, as a variable of the shell that is not set gives.

    Raises:
        OptionError: an argument, or the value of an option that names something, is empty or has a NUL.
    """
    for before, argument in pairwise(["", *arguments]):
        if "\0" in argument:
            raise OptionError("an argument holds a NUL, which no file name or text may; give it without")
        name, equals, value = argument.partition("=")
        option = name if equals else before
        if value or (argument and not (equals and name.startswith("--"))) or option in _MAY_BE_EMPTY:
            continue
        what = f"{option} ''" if option.startswith("-") else "an argument"
        raise OptionError(f"{what} is empty; expected a value (is a variable of the shell not set?)")


def sentence(error: Any, first: str) -> str:
    """Return typer's error in one sentence that ends in where to look; `first` is the first argument."""
    command = f"headscope {first}" if error.ctx is None else error.ctx.command_path
    reason = without_middle(error.format_message().strip().rstrip("."), _LONGEST)
    params = [] if error.ctx is None else error.ctx.command.params
    flags = [flag for flag in ("--treebank", "--coref") if any(flag in each.opts for each in params)]
    if "extra argument" in reason and flags and all(each.name != "files" for each in params):
        reason += f"; {command} reads no plain text: give {' or '.join(flags)} with an annotated file"
    return f"{reason[:1].lower()}{reason[1:]}; {command} --help lists what it takes"
