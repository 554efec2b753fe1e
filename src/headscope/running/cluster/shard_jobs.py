"""What is to be done for a scan on a cluster, in which order, and what again where a worker was lost."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headscope.encoding.shards import Shard
from headscope.errors import ModelError
from headscope.scans.shard_sums import TOGETHER

MOST_LOSSES = 4
"""A shard that was lost so often with its worker is taken for what ends them."""


@dataclass(frozen=True)
class Job:
    """One thing for a worker to do.

    Attributes:
        numbers: of the shard to compute, or of those to join.
        joins: whether they are to be joined.
    """

    numbers: range
    joins: bool = False


@dataclass(frozen=True)
class FinishedNode:
    """A whole node of the tree that lies with the workers.

    Attributes:
        numbers: of its shards.
        level: of the tree.
        result: what a worker gave for it.
    """

    numbers: range
    level: int
    result: Any


class ShardJobs:
    """Keeps account of a scan's shards: which are computed, which are joined, which come next.

    Shards are drawn when a worker is ready for one, and stay here until their node has been taken, since a worker may
    be lost with what it has computed.

    Args:
        shards: in their order.
        first: number of the first.
        ahead: how many may be drawn beyond the last that was taken.
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
        """Whether all has been taken."""
        return self._end is not None and self._taken == self._end

    def next(self) -> Job | None:
        """Return what to do next; None where nothing can be begun before something else is done."""
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
        """Return what workers gave for the shards that a job joins."""
        return [self._results[number] for number in job.numbers]

    def done(self, job: Job, result: Any) -> None:
        """Take what a worker gave for a job."""
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
        """Put a job back: its worker is gone.

        Raises:
            ModelError: it was put back too often.
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
        """Have shards computed once more: what was computed of them is gone with where it lay."""
        self._joined.pop(numbers.start, None)
        for number in numbers:
            self._results.pop(number, None)
        self._waiting.extendleft(Job(range(number, number + 1)) for number in reversed(numbers))

    def ready(self) -> FinishedNode | None:
        """Return the next node in order where it is there: eight shards joined, or one where eight do not come."""
        number = self._taken
        if number in self._joined:
            return FinishedNode(range(number, number + TOGETHER), 1, self._joined[number])
        start = number - number % TOGETHER
        alone = start < self._first or (self._end is not None and start + TOGETHER > self._end)
        if alone and number in self._results:
            return FinishedNode(range(number, number + 1), 0, self._results[number])
        return None

    def take(self, node: FinishedNode) -> None:
        """Let go of what lay here for a node."""
        self._joined.pop(node.numbers.start, None)
        for number in node.numbers:
            del self._inputs[number], self._results[number]
        self._taken = node.numbers.stop
