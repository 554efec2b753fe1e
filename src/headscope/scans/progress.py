"""The progress of a run: its stages and counts, and an estimate of the remaining time from what it has timed so far."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from headscope.attention.scan import ScanCounts
from headscope.encoding.shards import Shard

ProgressReport = Callable[[ScanCounts], None]


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes:
        stage: the current activity, in a word or two.
        documents: number of documents done.
        total: number of all documents, or None if it is unknown.
        segments: number of inputs done.
        limit: maximum number of inputs, or None.
        seconds: seconds since the stage began.
        unit: unit of `segments` and `limit` if the work is not counted by documents, such as `sentences`; else None.
        step, steps: 1-based number of the run's current stage, and number of stages and later steps such as drawing;
            None outside of stages.
        left: estimated seconds left of the run; None if nothing was timed yet.
        before, until: shares of the stage's time that are over when this activity begins and ends; None if unknown.
        note: note that the user should see before anything is measured; usually empty.
    """

    stage: str
    documents: int = 0
    total: int | None = None
    segments: int = 0
    limit: int | None = None
    seconds: float = 0.0
    unit: str | None = None
    step: int | None = None
    steps: int | None = None
    note: str = ""
    left: float | None = None
    before: float = 0.0
    until: float | None = None

    @property
    def of_stage(self) -> float | None:
        """Share of the stage's time that is over; None if it is unknown."""
        return None if self.until is None else self.before + (self.share or 0.0) * (self.until - self.before)

    @property
    def share(self) -> float | None:
        """Share of the work that is done, 0 to 1, or None if it is unknown."""
        shares = []
        if self.limit:
            shares.append(self.segments / self.limit)
        if self.total:
            shares.append(self.documents / self.total)
        return min(1.0, max(shares)) if shares else None

    @property
    def begun(self) -> bool:
        """True if anything was counted yet; loading and drawing count nothing."""
        return bool(self.documents or self.segments)


Watcher = Callable[[Progress], None]


def tell(watch: Watcher | None, stage: str, *, step: int | None = None, steps: int | None = None) -> None:
    """Report the beginning of an activity to a watcher, if there is one."""
    if watch is not None:
        watch(Progress(stage, step=step, steps=steps))


def note_early(watch: Watcher | None, note: str) -> None:
    """Report a note that the user should see before anything is measured."""
    if watch is not None:
        watch(Progress("loading the model", note=note))


def in_step(
    watch: Watcher | None, step: int, steps: int, *, left: Callable[[Progress], float | None]
) -> Watcher | None:
    """Return a watcher that adds the number of the stage and the remaining time of the run to every report."""
    if watch is None:
        return None
    return lambda progress: watch(replace(progress, step=step, steps=steps, left=left(progress)))


def scan_teller(
    watch: Watcher | None,
    stage: str,
    documents: Callable[[int], int],
    *,
    total: int | None,
    limit: int | None,
    before: float = 0.0,
    until: float | None = None,
) -> Callable[[ScanCounts], None] | None:
    """Return a callback that reports a scan's counts to a watcher, or None without a watcher.

    Args:
        watch: watcher that receives the reports.
        stage: the current activity, in a word or two.
        documents: function that estimates the number of documents in a number of inputs.
        total: number of all documents, or None if it is unknown.
        limit: maximum number of inputs, or None.
        before, until: as in `Progress`.
    """
    if watch is None:
        return None
    about = Progress(stage, total=total, limit=limit, before=before, until=until)
    return lambda done: watch(
        replace(about, documents=documents(done.segments), segments=done.segments, seconds=done.seconds)
    )


class ScanProgress:
    """Reports the counts of the whole scan, summed over its shards.

    Args:
        progress: function that receives the counts after each batch; None for no reports.
    """

    def __init__(self, progress: ProgressReport | None) -> None:
        self.progress = progress
        self.began = time.perf_counter()
        self.before = self.now = ScanCounts(0, 0, 0.0)

    def batch(self, counts: ScanCounts) -> None:
        """Report the counts of the current shard, after a batch."""
        self.now = ScanCounts(
            self.before.segments + counts.segments,
            self.before.tokens + counts.tokens,
            time.perf_counter() - self.began,
            max(self.before.held_bytes, counts.held_bytes),
        )
        if self.progress is not None:
            self.progress(self.now)

    def end(self) -> None:
        """End the current shard."""
        self.before = self.now

    def count(self, shard: Shard) -> None:
        """Report a shard that was computed before, or elsewhere."""
        self.batch(ScanCounts(len(shard.segments), sum(map(len, shard.segments)), 0.0))
        self.end()


_TOKEN = 0.0005
"""Seconds per token of the pass over the demonstration's text, on the machine of the stages' costs."""
_SAMPLE = 64
"""Number of inputs that most stages draw from a text of at least that size."""
_SAMPLE_TOKENS = 7300
"""Number of tokens in these inputs of the demonstration."""
_SMALLEST = 0.2
"""Share of the time of computations on heads that even a text of a few words takes."""
_PRIOR = 0.7
"""Seconds at that machine's speed that are added to the timings, because a first batch is slower than the others."""

_MOST_SHARING = 4.0
"""Bound on the slowdown by other processes, which a run that waits for other machines would overstate."""


class TimeLeft:
    """Estimate the remaining seconds of a run.

    A cost is a number of seconds on one machine. The first pass over the text, and each finished step, show how much
    slower or faster this machine computes this model.

    Args:
        costs: cost of each step, without passes over the text.
        passes: number of passes over the text that each step makes after the first, which all steps share.
        of_text: indices of the steps whose cost depends on the text; the first of them reads the text for all.
        tokens: function that returns the number of tokens that the pass over the text has read.
        drawing: processor seconds of drawing after these steps, which depend on neither the model nor the text.
        of_heads: processor seconds of each step that depend on the number of heads and the text, not on the model's
            speed; 0 where not given.
        clock: function that returns the time in seconds.
        processor: function that returns the processor time of this process in seconds; where other processes share the
            processors, drawing takes longer by the same factor as the run so far.
    """

    def __init__(
        self,
        costs: Sequence[float],
        *,
        passes: Sequence[int],
        of_text: Collection[int],
        tokens: Callable[[], int],
        drawing: float,
        of_heads: Sequence[float] = (),
        clock: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self._costs, self._passes, self._of_text = costs, passes, of_text
        self._of_heads = of_heads or [0.0] * len(costs)
        self._tokens, self._drawing, self._clock, self._processor = tokens, drawing, clock, processor
        self._text_step = min(of_text, default=None)
        self._timed = self._expected = _PRIOR
        self._step, self._began = 0, clock()
        self._start, self._processor_start = self._began, processor()
        self._pass = Progress("")
        self._pass_tokens = 0

    def seconds(self, step: int, progress: Progress) -> float:
        """Return the estimated remaining seconds.

        Args:
            step: index of the current step.
            progress: progress of the current step.
        """
        now = self._clock()
        done = progress.of_stage
        if step == self._text_step and progress.begun and done is None and self._pass.stage in ("", progress.stage):
            self._pass, self._pass_tokens = progress, self._tokens()
        # A limit on inputs may exceed the text, so the pass is complete when anything else is reported.
        share = (self._pass.share or 1.0) if progress is self._pass else 1.0
        costs, sharing = self._full_costs(share), self._sharing(now)
        of_heads = [sharing * each * self._of_text_size(share) for each in self._of_heads]
        before_pass = self._pass.seconds if self._step == self._text_step else 0.0
        if step != self._step:
            self._timed += max(now - self._began - before_pass - sum(of_heads[self._step : step]), 0.0)
            self._expected += sum(costs[self._step : step])
            self._step, self._began, before_pass = step, now, 0.0
        rate = (self._timed + self._pass.seconds) / (self._expected + self._pass_tokens * _TOKEN)
        spent = now - self._began - before_pass
        here = spent / done if done else rate * sum(costs[step : step + 1]) + sum(of_heads[step : step + 1])
        return (
            max(here - spent, 0.0)
            + self._pass.seconds * (1 / share - 1)
            + rate * sum(costs[step + 1 :])
            + sum(of_heads[step + 1 :])
            + self._drawing * sharing
        )

    def _sharing(self, now: float) -> float:
        """Return the time that the run took so far as a multiple of its processor time, from 1 to a bound."""
        processor = self._processor() - self._processor_start
        return min(max((now - self._start + _PRIOR) / (processor + _PRIOR), 1.0), _MOST_SHARING)

    def _full_costs(self, share: float) -> list[float]:
        """Return the cost of each step on this text, of which a share was read."""
        tokens = self._pass_tokens / share
        if not tokens:
            return list(self._costs)
        sample = self._sample(share)
        return [
            cost * (sample if n in self._of_text else 1.0) + passes * tokens * _TOKEN
            for n, (cost, passes) in enumerate(zip(self._costs, self._passes, strict=True))
        ]

    def _of_text_size(self, share: float) -> float:
        """Return the factor by which computations on heads take longer than on the demonstration's text."""
        return _SMALLEST + (1 - _SMALLEST) * self._sample(share) if self._pass_tokens else 1.0

    def _sample(self, share: float) -> float:
        """Return the tokens in the inputs that stages draw from this text, as a multiple of the demonstration's."""
        return self._pass_tokens / share * min(1.0, _SAMPLE * share / self._pass.segments) / _SAMPLE_TOKENS
