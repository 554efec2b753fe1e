"""Commands with their headings and help, those of other packages included, and checks of a command line."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import typer
import typer.core

from headscope.errors import OptionError, did_you_mean, nearest
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
_LONGEST_VALUE = 200


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
    check(arguments, commands=root.commands)
    try:
        with root.make_context("headscope", list(arguments)) as context:
            root.invoke(context)
    except typer.Exit as ended:
        raise SystemExit(ended.exit_code) from None
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message(), err=True)
            raise SystemExit(2) from None
        raise OptionError(sentence(error, arguments)) from None
    raise SystemExit(0)


def check(arguments: Sequence[str], *, commands: Iterable[str]) -> None:
    """Raise an error for arguments that no command could accept.

    Raises:
        OptionError: a command is unknown, a path or a number is an empty text, or there is a NUL.
    """
    known = list(commands)
    first = next((each for each in arguments if not each.startswith("-")), None)
    if first is not None and first not in known:
        hint = did_you_mean(first[:_LONGEST_VALUE], known)
        raise OptionError(f"there is no command {_quoted(first)}; expected one of {', '.join(known)}{hint}")
    before = ""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if "\0" in argument:
            raise OptionError(
                f"the argument {_quoted(argument)} holds a NUL, which no file name or text may; give it without"
            )
        if not argument and before.startswith("-") and before not in _MAY_BE_EMPTY:
            raise OptionError(_EMPTY.format(option=before))
        if name.startswith("--") and equals and not value and name not in _MAY_BE_EMPTY:
            raise OptionError(_EMPTY.format(option=name))
        if not argument and not before.startswith("-"):
            raise OptionError("an argument is empty; expected a name (is a variable of the shell not set?)")
        before = argument


_EMPTY = "{option} '' is empty; expected a value (is a variable of the shell not set?), or leave {option} out"


def sentence(error: Any, arguments: Sequence[str]) -> str:
    """Return typer's error in one sentence: what was expected, what was given, where to look."""
    typed = [each for each in arguments if not each.startswith("-")]
    command = error.ctx.command_path if error.ctx is not None else f"headscope {typed[0]}"
    lists = f"{command} --help lists what it takes"
    kind = type(error).__name__
    if kind == "NoSuchOption":
        possible = sorted(error.possibilities or ())
        near = f"did you mean {nearest(error.option_name, possible) or possible[0]}? " if possible else ""
        return f"{command} has no option {_quoted(error.option_name)}; {near}{lists}"
    if kind == "MissingParameter":
        is_argument = error.param.param_type_name == "argument"
        wanted = error.param.metavar if is_argument else " or ".join(error.param.opts)
        return f"{command} expects {wanted}, which was not given; {lists}"
    if kind == "BadOptionUsage":
        return f"{error.option_name} expects a value after it, and nothing came; {lists}"
    reason = error.message.strip().rstrip(".")
    reason = without_middle(reason[:1].lower() + reason[1:], 2 * _LONGEST_VALUE)
    if reason.startswith("got unexpected extra argument") and (flags := _corpus_flags(error.ctx)):
        return f"{reason}; {command} reads no plain text: give {' or '.join(flags)} with an annotated file; {lists}"
    if kind == "BadParameter" and error.param is not None:
        option = error.param.opts[0]
        values = [_quoted(value) for value in _values(error.param.opts, arguments)]
        return f"{' '.join([option, *values[:1]])} cannot be taken: {reason}; {lists}"
    return f"{reason}; {lists}"


def _corpus_flags(context: Any) -> list[str]:
    """Return the options for annotated corpora of a command that takes no files without an option."""
    params = [] if context is None else context.command.params
    if any(each.name == "files" for each in params):
        return []
    return [flag for flag in ("--treebank", "--coref") if any(flag in each.opts for each in params)]


def _values(options: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Return the values of an option as they were typed."""
    values = []
    for index, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in options:
            values += [value] if equals else list(arguments[index + 1 : index + 2])
    return values


def _quoted(text: str) -> str:
    return f"'{without_middle(text, _LONGEST_VALUE)}'"
