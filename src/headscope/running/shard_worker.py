"""The jobs of a scan on a cluster, and the worker process that holds the model and computes them."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope.attention.model.segment_source import SegmentSource
from headscope.encoding.shards import Shard
from headscope.errors import ModelError
from headscope.running.stages import measurement_of, scan_runner
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.passes import compute_shard
from headscope.scans.prepare.prepared_run import ModelRun, prepare_model_run
from headscope.scans.scan_declaration import Scan, ShardJob
from headscope.scans.scan_runner import ScanRunner
from headscope.scans.stage_sums import ShardSums
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import State


@dataclass(frozen=True, kw_only=True)
class WorkersRun:
    """The run as it is sent to a worker.

    Attributes:
        options: options of the run; files are given by paths or addresses that are the same for all nodes.
        text: number of documents and hash of the text, which workers do not read because they receive their inputs.
        signature: signature of the run, with its `id` and `versions`.
    """

    options: RunOptions
    text: tuple[int, str]
    signature: Mapping[str, Any]


class ShardWorker:
    """Computes shards of a run; the run is loaded when first needed, so a restarted worker loads it again.

    Args:
        run_description: the run as it is sent to workers.
    """

    def __init__(self, run_description: WorkersRun) -> None:
        self._run_description = run_description
        self._at: tuple[Sequence[str], str] | None = None
        self._opened: tuple[SegmentSource, list[ShardSums], Sequence[Accumulator]] | None = None
        self._scans_of: dict[str, Mapping[str, Scan]] = {}

    @cached_property
    def run(self) -> ModelRun:
        """The run, with its model.

        Raises:
            HeadscopeError: it cannot be prepared here, or differs from the run that was described.
        """
        run = prepare_model_run(self._run_description.options, text_read=self._run_description.text)
        signature_here, signature_there = (_essential(run.signature), _essential(self._run_description.signature))
        if signature_here != signature_there:
            differing = ", ".join(name for name in signature_there if signature_here.get(name) != signature_there[name])
            raise ModelError(
                f"a worker of the cluster would compute something other than this run: {differing} differs there; "
                "give all nodes the same files, and the same versions of headscope, torch and transformers"
            )
        return run

    def ready(self) -> None:
        """Load everything that is needed to compute.

        Raises:
            HeadscopeError: as `run`.
        """
        _ = self.run

    def shard(self, stages: Sequence[str], scan_name: str, shard: Shard) -> list[State]:
        """Return the state that one shard adds up to, for each stage."""
        if self._opened is None or self._at != (stages, scan_name):
            self._opened = None  # its model may be large, and another one is loaded next
            self._opened, self._at = self._open(stages, scan_name), (stages, scan_name)
        source, like, layout_accumulators = self._opened
        computed, _ = compute_shard(shard, source, like, layout_accumulators=layout_accumulators)
        return [sums.state() for sums in computed]

    def _open(
        self, stages: Sequence[str], scan_name: str
    ) -> tuple[SegmentSource, list[ShardSums], Sequence[Accumulator]]:
        """Find a scan among those that its stages declare; return its model, empty sums, and accumulators of layout."""
        scans = [self._declared(stage, scan_name) for stage in stages]
        source = scans[0].corpus.source()
        assert isinstance(source, SegmentSource)
        sums = [ShardSums.of(source, scan.accumulators) for scan in scans]
        return source, sums, self._runner.layout_accumulators(scans[0])

    def _declared(self, stage: str, scan_name: str) -> Scan:
        """Return a scan of a stage by its name."""
        if stage not in self._scans_of:
            self._scans_of[stage] = {scan.name: scan for scan in measurement_of(STAGES[stage], self.run).scans()}
        scans = self._scans_of[stage]
        if scan_name not in scans:
            raise ValueError(
                f"stage {stage} declares no scan {scan_name!r} on a worker, but {', '.join(scans) or 'none'}; `scans` "
                "must yield the same scans in every process"
            )
        return scans[scan_name]

    @cached_property
    def _runner(self) -> ScanRunner:
        """The runner that knows all stages' scans of the text, which together decide about tiles and batches."""
        return scan_runner(self.run)


def _essential(signature: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that must be the same on all nodes; builds of one version for other processors may differ."""
    versions = {name: str(version).partition("+")[0] for name, version in signature["versions"].items()}
    return {"model, corpora or options": signature["id"], **versions, "python": ""}


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
