"""Progress: a bar with documents a second and the time left on a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headscope.app.cli.printing import say_beside
from headscope.counted import count, duration
from headscope.visible import printable

if TYPE_CHECKING:
    from headscope.scans.progress import Progress

_SECONDS_BETWEEN_LINES = 10.0


class ProgressPrinter:
    """Show how far a run is, on standard error; use as a context manager.

    Args:
        quiet: show nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._bar: Any = None
        self._said = 0.0
        self._share = 0.0
        self._began = self._stage_began = 0.0
        self._stage: Progress | None = None

    def __enter__(self) -> "ProgressPrinter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            with suppress(OSError):  # the terminal may be gone
                self._bar.stop()

    def __call__(self, progress: "Progress") -> None:
        """Show one state."""
        if self.quiet:
            return
        if progress.note:
            self._say(f"note: {progress.note}")
            return
        self._follow(progress)
        if sys.stderr.isatty():
            self._draw(progress)
            return
        now = time.monotonic()
        # A log gets what was counted, not each beginning.
        if progress.begun and now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            say_beside(describe(progress))

    def _follow(self, progress: "Progress") -> None:
        """Say of a stage that it is done when the next begins, and how long the rest of the run may take."""
        now, stage = time.monotonic(), self._stage
        if progress.step is None or (stage is not None and stage.step == progress.step):
            return
        if stage is None:
            self._began = now
        else:
            self._say(stage_done(stage, seconds=now - self._stage_began, of_run=now - self._began))
        self._stage, self._stage_began = progress, now

    def _say(self, line: str) -> None:
        """Print a line that stays, above the bar where there is one."""
        if self._bar is None:
            say_beside(line)
        else:
            self._bar.console.print(f"headscope: {printable(line)}", markup=False, highlight=False)

    def _draw(self, progress: "Progress") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        if self._bar is None:
            bar = Bar(
                BarColumn(bar_width=32),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            bar.start()
            bar.add_task("", total=1.0)
            self._bar = bar
        share = progress.share_of_all
        if share is not None:
            # A stage may read its corpus several times: the bar never goes back.
            self._share = share = max(self._share, share)
        self._bar.update(
            0, description=printable(describe(progress)), completed=share, total=None if share is None else 1.0
        )


def stage_done(stage: "Progress", *, seconds: float, of_run: float) -> str:
    """Say that a stage is done, and the time that is left of the run.

    Args:
        stage: as its first report has it.
        seconds: that it took.
        of_run: seconds since the run began.
    """
    line = f"stage {stage.step} of {stage.steps}, {stage.stage}: done in {duration(seconds)}"
    if not 0 < stage.ends < 1:
        return line
    return f"{line}, about {duration(of_run * (1 - stage.ends) / stage.ends)} left in all"


def describe(progress: "Progress") -> str:
    """Say a state in one line: what, how much of it is done, how fast, how much longer."""
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
        elif share := progress.share:
            words.append(f"{duration(progress.seconds * (1 - share) / share)} left")
    return ", ".join(words)
