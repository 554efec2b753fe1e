"""Output to the standard streams, through which any foreign text becomes printable on a terminal."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from headscope.errors import OutputError
from headscope.visible import printable, shorten

if TYPE_CHECKING:
    from headscope.present.page_tables import Grid

# Columns of a table that is written to a pipe, which gets whole lines whatever the width of the console.
_WIDTH_OF_A_PIPE = 140
_WIDEST_CELL = 200


def say(line: str = "") -> None:
    """Print a line on standard output.

    Raises:
        BrokenPipeError: the reader of the pipe has left.
        OutputError: standard output cannot be written to, for example on a full disk.
    """
    _write(f"{printable(line)}\n")


def say_beside(line: str) -> None:
    """Print a line on standard error, after the program's name; ignore errors in writing it."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"headscope: {printable(line)}\n")
            sys.stderr.flush()


def show_table(grid: "Grid") -> None:
    """Print a table on standard output, as wide as the terminal; no cell is interpreted as markup.

    Raises:
        BrokenPipeError: the reader of the pipe has left.
        OutputError: standard output cannot be written to, for example on a full disk.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def cell(text: str) -> Text:
        return Text(shorten(printable(text), _WIDEST_CELL))

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, title in enumerate(grid.titles):
        table.add_column(cell(title), justify="right" if index and title not in grid.words else "left")
    for row in grid.rows:
        table.add_row(*map(cell, row))
    console = Console(width=None if Console().is_terminal else _WIDTH_OF_A_PIPE)
    # Written here, not by rich, which ends the process itself if the reader has left.
    with console.capture() as drawn:
        console.print(table)
    _write(drawn.get())


def show(lines: Iterable[Any]) -> None:
    """Print the lines and tables of text that an analysis renders."""
    for line in lines:
        if isinstance(line, str):
            say(line)
        else:
            show_table(line)


@contextmanager
def fit_output() -> Iterator[None]:
    """Let standard output write unencodable characters as `\\u2026`, like standard error, without an error."""
    stream = sys.stdout
    if (change := getattr(stream, "reconfigure", None)) is None:
        yield
        return
    before = stream.errors
    change(errors="backslashreplace")
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # this flushes, and a failed flush has been reported
            change(errors=before)


def _write(text: str) -> None:
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"standard output takes nothing more ({error.strerror}); expected a terminal, a pipe that is read, or "
            "a file on a disk with room; results that go into files are written"
        ) from error
