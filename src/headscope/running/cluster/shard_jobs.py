"""Jobs of a scan on a cluster: their order, and which of them are repeated after a worker was lost."""

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from headscope.errors import ModelError
from headscope.scans.shard_executor import ShardJob

MOST_LOSSES = 4
"""A shard that was lost this often with its worker is assumed to crash workers."""


class ShardJobs:
    """Bookkeeping of a scan's jobs: which are computed, and which come next.

    Jobs are drawn when a worker is ready for one. They stay here until their result has been taken, because a worker
    may be lost together with its results.

    Args:
        jobs: jobs in order.
        ahead: maximum number of jobs drawn beyond the last one taken.
    """

    def __init__(self, jobs: Iterator[ShardJob], *, ahead: int) -> None:
        self._jobs, self._ahead = jobs, ahead
        self._drawn = self._taken = 0
        self._ended = False
        self._held: dict[int, ShardJob] = {}
        self._results: dict[int, Any] = {}
        self._waiting: deque[int] = deque()
        self._losses: Counter[int] = Counter()

    @property
    def finished(self) -> bool:
        """Return True if the results of all jobs have been taken."""
        return self._ended and self._taken == self._drawn

    def next(self) -> int | None:
        """Return the number of the next job; None if no job can begin before another one is done."""
        if self._waiting:
            return self._waiting.popleft()
        while not self._ended and self._drawn - self._taken < self._ahead:
            job = next(self._jobs, None)
            if job is None:
                self._ended = True
                break
            number = self._drawn
            self._held[number] = job
            self._drawn += 1
            if job.stages:
                return number
            self._results[number] = None  # nothing to compute
        return None

    def job(self, number: int) -> ShardJob:
        """Return a job that was drawn and not yet taken."""
        return self._held[number]

    def done(self, number: int, result: Any) -> None:
        """Store a worker's result for a job."""
        self._results[number] = result

    def lost(self, number: int) -> None:
        """Put a job back because its worker was lost.

        Raises:
            ModelError: the job was put back too often.
        """
        self._losses[number] += 1
        if self._losses[number] >= MOST_LOSSES:
            raise ModelError(
                f"shard {self._held[number].shard.number} was lost with its worker {MOST_LOSSES} times; it may take "
                "more memory than there is: give a lower --batch-size, fewer workers a machine (--cpus-per-worker, "
                "--gpus-per-worker), or look at the logs of the cluster"
            )
        self._waiting.appendleft(number)

    def again(self, number: int) -> None:
        """Compute a job once more, because its result was lost with the machine that stored it."""
        self._results.pop(number, None)
        self._waiting.appendleft(number)

    def ready(self) -> tuple[int, Any] | None:
        """Return the number of the next job in order and its result; None if it is not done."""
        number = self._taken
        return (number, self._results[number]) if number in self._results else None

    def take(self, number: int) -> ShardJob:
        """Drop everything stored here for a job, and return it."""
        del self._results[number]
        self._taken = number + 1
        return self._held.pop(number)
