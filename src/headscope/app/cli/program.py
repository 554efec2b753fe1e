"""The command line: the commands of analyses, and the other commands, whose functions import heavy modules."""

import sys
from collections.abc import Iterator, Sequence

import typer

from headscope.app.cli import explore, file_commands, preprocess, report, view
from headscope.app.cli.measuring import command_of
from headscope.app.cli.printing import fit_output, say, say_beside
from headscope.app.cli.program_commands import (
    HEADINGS,
    GroupedCommand,
    GroupedProgram,
    ProgramCommand,
    commands_of_packages,
    run,
)
from headscope.app.stopping import STOPPED, Stoppable
from headscope.errors import HeadscopeError
from headscope.installing import __version__
from headscope.scans.declarations.analysis_list import ANALYSES

app = typer.Typer(
    name="headscope",
    help="What do the attention heads of this transformer look at?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=GroupedProgram,
)
_OTHERS = (
    ProgramCommand(name="report", heading="Start", function=report.report),
    ProgramCommand(name="view", heading="Start", function=view.command),
    ProgramCommand(name="explore", heading="Start", function=explore.command),
    ProgramCommand(name="prune", heading="Compare", function=file_commands.prune),
    ProgramCommand(name="merge", heading="Scale", function=report.merge),
    ProgramCommand(name="segments", heading="Scale", function=preprocess.segments),
    ProgramCommand(name="extract", heading="Scale", function=preprocess.extract),
    ProgramCommand(name="convert", heading="Scale", function=file_commands.convert),
    ProgramCommand(name="export", heading="Publish", function=file_commands.export),
    ProgramCommand(name="atlas", heading="Publish", function=file_commands.atlas),
)


def add_commands() -> None:
    """Add the commands to the program, grouped by heading."""
    present = [*_OTHERS, *_commands_of_analyses()]
    added = commands_of_packages(taken=frozenset(command.name for command in present))
    for command in sorted([*present, *added], key=lambda each: HEADINGS.index(each.heading)):
        command.add_to(app, shown_by=GroupedCommand)


def _commands_of_analyses() -> Iterator[ProgramCommand]:
    for analysis in ANALYSES:
        if (command := analysis.command) is not None:
            function = command_of(analysis, command)
            heading = "Compare" if command.models else "Measure"
            yield ProgramCommand(name=command.name, heading=heading, function=function)


add_commands()


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """What do the attention heads of this transformer look at?"""
    if version:
        say(f"headscope {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit with 2 and one sentence for problems that the user can fix."""
    typed = [_hyphens(each) for each in (sys.argv[1:] if arguments is None else arguments)]
    try:
        with Stoppable(), fit_output():
            run(app, typed)
    except HeadscopeError as error:
        _stop(str(error), code=2)
    except KeyboardInterrupt as stopped:
        _stop(STOPPED, code=getattr(stopped, "code", 130))
    except BrokenPipeError:
        # The reader of our output (head, less) has left; that is not an error, and nothing more can be printed.
        raise SystemExit(0) from None
    except OSError as error:
        from headscope.storage.files import in_words

        _stop(in_words(error), code=2)
    except MemoryError:
        _stop(
            "the machine has no memory left for this; lower --batch-size and --max-length, or run less at once", code=2
        )


def _hyphens(argument: str) -> str:
    """Replace underscores in the name of an option by hyphens, because users of the original may write underscores."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value


def _stop(sentence: str, *, code: int) -> None:
    say_beside(sentence)
    raise SystemExit(code) from None
