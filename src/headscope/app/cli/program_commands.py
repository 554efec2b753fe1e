"""Commands that do not belong to an analysis, including those of other packages, found as entry points."""

from collections.abc import Callable
from dataclasses import dataclass

import typer

from headscope.entry_points import installed
from headscope.errors import OptionError
from headscope.installing import how_to_install_companion

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
