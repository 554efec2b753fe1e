"""Output to the standard streams, made printable on a terminal, and the progress of a run on standard error."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headscope.errors import OutputError
from headscope.installing import EMBEDDED
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions
from headscope.visible import count, duration, printable, shorten

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
    """Print a table on standard output, as wide as the terminal, like `say`; no cell is interpreted as markup."""
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


if TYPE_CHECKING:
    from headscope.scans.progress import Progress

_SECONDS_BETWEEN_LINES = 10.0
_LONGEST_SILENCE = 8.0
"""Seconds after which a log gets a line without new counts, so that with the next tick it comes within ten."""
_TICK = 1.0


class ProgressPrinter:
    """Show the progress of a run on standard error; use as a context manager.

    Args:
        quiet: whether to show nothing.
        options: options of the run; its inputs are named at once, before the imports that take seconds.

    Attributes:
        noted: notes that were shown.
    """

    def __init__(self, *, quiet: bool = False, options: RunOptions | None = None) -> None:
        self.quiet = quiet
        self.noted: set[str] = set()
        self._bar: Any = None
        self._said = self._counted_said = 0.0
        self._share = 0.0
        self._began = self._stage_began = self._doing_since = 0.0
        self._stage: Progress | None = None
        self._doing: Progress | None = None
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._break_silence, daemon=True)
        if options is not None and not quiet:
            self._say(reading_line(options))

    def __enter__(self) -> "ProgressPrinter":
        if not self.quiet:
            self._said = self._doing_since = time.monotonic()
            self._beat.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._beat.is_alive():
            self._beat.join()
        if self._bar is not None:
            with suppress(OSError):  # the terminal may be gone
                self._bar.stop()

    def _break_silence(self) -> None:
        """Print the current activity every few seconds if nothing else was printed; a bar shows its own time."""
        while not self._ended.wait(_TICK):
            now, doing = time.monotonic(), self._doing
            if self._bar is None and now - self._said >= _LONGEST_SILENCE:
                what = "loading libraries" if doing is None else describe(doing)
                self._say(f"{what}, {duration(now - self._doing_since)} so far")

    def __call__(self, progress: "Progress") -> None:
        """Show one report."""
        if self.quiet:
            return
        if progress.note:
            self.noted.add(progress.note)
            self._say(f"note: {progress.note}")
            return
        if self._doing is None or (self._doing.stage, self._doing.step) != (progress.stage, progress.step):
            self._doing_since = time.monotonic()
        self._doing = progress
        self._follow(progress)
        if sys.stderr.isatty():
            self._draw(progress)
            return
        now = time.monotonic()
        # A log gets counts, not each beginning.
        if progress.begun and now - self._counted_said >= _SECONDS_BETWEEN_LINES:
            self._counted_said = now
            self._say(describe(progress))

    def _follow(self, progress: "Progress") -> None:
        """When the next stage begins, print that the last one is done, and the run's estimated remaining time."""
        now, stage = time.monotonic(), self._stage
        if progress.step is None or (stage is not None and stage.step == progress.step):
            return
        if stage is None:
            self._began = now
        else:
            self._say(stage_done(stage, seconds=now - self._stage_began, left=progress.left))
        self._stage, self._stage_began = progress, now

    def _say(self, line: str) -> None:
        """Print a line that stays, above the bar if there is one."""
        self._said = time.monotonic()
        if self._bar is None:
            say_beside(line)
        else:
            self._bar.console.print(f"headscope: {printable(line)}", markup=False, highlight=False)

    def _draw(self, progress: "Progress") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        if self._bar is None:
            bar = Bar(
                BarColumn(bar_width=32),
                TimeElapsedColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            bar.start()
            bar.add_task("", total=1.0)
            self._bar = bar
        share = None
        if progress.left is not None:
            passed = time.monotonic() - self._began
            share = passed / max(passed + progress.left, 1e-9)
            # An estimate may grow, but the bar never goes back.
            self._share = share = max(self._share, share)
        self._bar.update(
            0, description=printable(describe(progress)), completed=share, total=None if share is None else 1.0
        )


def reading_line(options: RunOptions) -> str:
    """Return the first line of a run: the corpora that it reads, and its model."""
    if options.maps is not None:
        return f"reading the maps in {options.maps}"
    names = [*options.text, *options.treebank, *options.treebank_train, *options.coref]
    corpora = ", ".join("standard input" if name == "-" else name for name in dict.fromkeys(names))
    return f"reading {corpora or demonstration_read(options)}, loading {options.model or EMBEDDED}"


def demonstration_read(options: RunOptions) -> str:
    """Return the names of the demonstration's corpora that a run without a corpus reads."""
    read = options.corpora_read
    parts = [
        name for name, corpora in (("text", {"text"}), ("treebank", {"treebank", "coreference"})) if corpora & read
    ]
    return f"the demonstration's {' and '.join(parts) or 'model'}"


def demonstration_note(options: RunOptions) -> str:
    """Return a note that a run without a corpus read the demonstration's, with the options to give another."""
    read = options.corpora_read
    flags = [
        each.flag for each in options_of(type(options)).values() if each.demonstrated and read.intersection(each.holds)
    ]
    return f"no corpus was given, so {demonstration_read(options)} was read; {' and '.join(flags)} reads another"


def stage_done(stage: "Progress", *, seconds: float, left: float | None) -> str:
    """Return a line that a stage is done, with the remaining time of the run.

    Args:
        stage: first report of the stage.
        seconds: seconds that the stage took.
        left: estimated seconds left of the run, or None.
    """
    line = f"stage {stage.step} of {stage.steps}, {stage.stage}: done in {duration(seconds)}"
    return line if left is None else f"{line}, about {duration(left)} left in all"


def describe(progress: "Progress") -> str:
    """Return a report in one line: the activity, how much of it is done, the speed and the remaining time."""
    unit = progress.unit or "documents"
    done, total = progress.documents, progress.total
    if progress.unit is not None:
        done, total = progress.segments, progress.limit
    what = progress.stage
    if progress.step is not None:
        what = f"stage {progress.step} of {progress.steps}, {what}"
    if not progress.begun:
        return what
    words = [f"{what}: {done:,} {unit}" if total is None else f"{what}: {done:,} of {total:,} {unit}"]
    if progress.unit is None:
        words.append(f"{count(progress.segments, 'input')}")
    if progress.seconds > 0 and done:
        words.append(f"{done / progress.seconds:.1f} {unit}/s")
        if progress.share == 1.0:
            words.append("working out the numbers")
        elif progress.left is not None:
            words.append(f"about {duration(progress.left)} left in all")
        elif share := progress.share:
            words.append(f"{duration(progress.seconds * (1 - share) / share)} left")
    return ", ".join(words)
