"""The command line: one file a command, heavy imports inside the commands."""

import sys
from collections.abc import Sequence

import typer

from headscope.app.cli import (
    atlas,
    cluster,
    convert,
    coref,
    explore,
    extract,
    importance,
    probe,
    report,
    segments,
    stats,
    syntax,
    train,
    view,
)
from headscope.app.cli.printing import fit_output, say, say_beside
from headscope.app.cli.usage import run
from headscope.app.stopping import STOPPED, Stoppable
from headscope.errors import HeadscopeError

app = typer.Typer(
    name="headscope",
    help="What do the attention heads of this transformer look at?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("report")(report.command)
app.command("stats")(stats.command)
app.command("segments")(segments.command)
app.command("extract")(extract.command)
app.command("convert")(convert.command)
app.command("syntax")(syntax.command)
app.command("coref")(coref.command)
app.command("cluster")(cluster.command)
app.command("importance")(importance.command)
app.command("probe")(probe.command)
app.command("train")(train.command)
app.command("view")(view.command)
app.command("explore")(explore.command)
app.command("atlas")(atlas.command)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """What do the attention heads of this transformer look at?"""
    if version:
        from headscope import __version__

        say(f"headscope {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit with 2 and one sentence where the user can mend the problem."""
    given = [_hyphens(each) for each in (sys.argv[1:] if arguments is None else arguments)]
    try:
        with Stoppable(), fit_output():
            run(app, given)
    except HeadscopeError as error:
        _stop(str(error), code=2)
    except KeyboardInterrupt as stopped:
        _stop(STOPPED, code=getattr(stopped, "code", 130))
    except BrokenPipeError:
        # The reader of our output (head, less) has left; that is no error, and nothing more can be printed.
        raise SystemExit(0) from None
    except OSError as error:
        from headscope.storage.trouble import in_words

        _stop(in_words(error), code=2)
    except MemoryError:
        _stop(
            "the machine has no memory left for this; lower --batch-size and --max-length, or run less beside it",
            code=2,
        )


def _hyphens(argument: str) -> str:
    """Write an option with hyphens, as the original's users may write underscores."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value


def _stop(sentence: str, *, code: int) -> None:
    say_beside(sentence)
    raise SystemExit(code) from None
