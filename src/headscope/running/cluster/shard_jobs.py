"""Jobs of a scan on a cluster: their order, and which of them are repeated after a worker was lost."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headscope.encoding.shards import Shard
from headscope.errors import ModelError
from headscope.scans.shard_sums import TOGETHER

MOST_LOSSES = 4
"""A shard that was lost this often with its worker is assumed to crash workers."""


@dataclass(frozen=True)
class Job:
    """One job of a worker.

    Attributes:
        numbers: number of the shard to compute, or numbers of the shards to join.
        joins: whether the shards are to be joined.
    """

    numbers: range
    joins: bool = False


@dataclass(frozen=True)
class FinishedNode:
    """A finished node of the tree whose state is stored on the workers.

    Attributes:
        numbers: numbers of its shards.
        level: level in the tree.
        result: result of the worker.
    """

    numbers: range
    level: int
    result: Any


class ShardJobs:
    """Bookkeeping of a scan's shards: which are computed, which are joined, which come next.

    Shards are drawn when a worker is ready for one. They stay here until their node has been taken, because a worker
    may be lost together with its results.

    Args:
        shards: shards in order.
        first: number of the first shard.
        ahead: maximum number of shards drawn beyond the last one taken.
    """

    def __init__(self, shards: Iterator[Shard], *, first: int, ahead: int) -> None:
        self._shards, self._first, self._ahead = shards, first, max(ahead, 2 * TOGETHER)
        self._drawn = self._taken = first
        self._end: int | None = None
        self._inputs: dict[int, Shard] = {}
        self._results: dict[int, Any] = {}
        self._joined: dict[int, Any] = {}
        self._waiting: deque[Job] = deque()
        self._losses: Counter[range] = Counter()

    @property
    def finished(self) -> bool:
        """Return True if all nodes have been taken."""
        return self._end is not None and self._taken == self._end

    def next(self) -> Job | None:
        """Return the next job; None if no job can begin before another one is done."""
        if self._waiting:
            return self._waiting.popleft()
        if self._end is not None or self._drawn - self._taken >= self._ahead:
            return None
        shard = next(self._shards, None)
        if shard is None:
            self._end = self._drawn
            return None
        if shard.number != self._drawn:
            raise ValueError(f"expected shard {self._drawn}, found {shard.number}")
        self._inputs[self._drawn] = shard
        self._drawn += 1
        return Job(range(shard.number, self._drawn))

    def shard(self, job: Job) -> Shard:
        """Return the inputs of the shard that a job computes."""
        return self._inputs[job.numbers.start]

    def results(self, job: Job) -> list[Any]:
        """Return the workers' results for the shards that a job joins."""
        return [self._results[number] for number in job.numbers]

    def done(self, job: Job, result: Any) -> None:
        """Store a worker's result for a job."""
        if job.joins:
            self._joined[job.numbers.start] = result
            return
        number = job.numbers.start
        self._results[number] = result
        start = number - number % TOGETHER
        node = range(start, start + TOGETHER)
        if start >= self._first and all(each in self._results for each in node):
            self._waiting.appendleft(Job(node, joins=True))

    def lost(self, job: Job) -> None:
        """Put a job back because its worker was lost.

        Raises:
            ModelError: the job was put back too often.
        """
        self._losses[job.numbers] += 1
        if self._losses[job.numbers] >= MOST_LOSSES:
            raise ModelError(
                f"shard {job.numbers.start} was lost with its worker {MOST_LOSSES} times; it may take more memory than "
                "there is: give a lower --batch-size, fewer workers a machine (--cpus-per-worker, "
                "--gpus-per-worker), or look at the logs of the cluster"
            )
        self._waiting.appendleft(job)

    def again(self, numbers: range) -> None:
        """Compute shards once more, because their results were lost with the place that stored them."""
        self._joined.pop(numbers.start, None)
        for number in numbers:
            self._results.pop(number, None)
        self._waiting.extendleft(Job(range(number, number + 1)) for number in reversed(numbers))

    def ready(self) -> FinishedNode | None:
        """Return the next node in order if ready: eight joined shards, or one shard of an incomplete group of eight."""
        number = self._taken
        if number in self._joined:
            return FinishedNode(range(number, number + TOGETHER), 1, self._joined[number])
        start = number - number % TOGETHER
        alone = start < self._first or (self._end is not None and start + TOGETHER > self._end)
        if alone and number in self._results:
            return FinishedNode(range(number, number + 1), 0, self._results[number])
        return None

    def take(self, node: FinishedNode) -> None:
        """Drop everything stored here for a node."""
        self._joined.pop(node.numbers.start, None)
        for number in node.numbers:
            del self._inputs[number], self._results[number]
        self._taken = node.numbers.stop
