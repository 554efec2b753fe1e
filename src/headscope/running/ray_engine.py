"""Shards computed by Ray: one model per actor, on any number of nodes and GPUs."""

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from headscope.encoding.shards import Shard
from headscope.errors import HeadscopeError, ModelError, OptionError
from headscope.running.parts import shared_options
from headscope.running.ray_connection import ClusterOptions, RayConnection
from headscope.running.shard_worker import ShardJobs, ShardWorker, WorkersRun
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import ShardJob
from headscope.statistics.sums.kept import State

RESTARTS = 3
"""How often Ray restarts a lost worker."""
_AT_ONCE = 2  # jobs per worker: one is computed while the next is on its way
_WORD_AFTER = 60.0  # seconds without a worker after which the user gets a warning


@dataclass(eq=False)
class _Worker:
    """An actor, whether it is ready for jobs, its number of jobs, and its process on its machine."""

    actor: Any
    up: bool = False
    jobs: int = 0
    process: int = 0


@dataclass
class _Scan:
    """A scan in progress: its remaining jobs, and the jobs under way by the reference that signals completion."""

    name: str
    jobs: ShardJobs
    under_way: dict[Any, tuple[_Worker, int, Any]] = field(default_factory=dict)


class RayEngine:
    """A cluster that is connected while the block runs.

    Ray restarts a lost actor (`max_restarts`) but retries an actor's task on that same actor, which waits forever if
    its node does not come back; so lost jobs go to whichever worker is free (`max_task_retries` stays 0).
    `ray.util.ActorPool` passes results by value and drops lost ones; here results stay on the workers until their turn
    comes.

    Args:
        options: options that choose the cluster and its resources.

    Raises:
        OptionError: Ray is not installed, or no cluster answers at that address.
    """

    def __init__(self, options: ClusterOptions) -> None:
        self._connection = RayConnection(options)
        self.ray: Any = self._connection.ray
        self.options = options
        self._workers: list[_Worker] = []
        self._waking: dict[Any, _Worker] = {}
        self._run: WorkersRun | None = None

    def __enter__(self) -> "RayEngine":
        self._connection.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            self.ray.kill(worker.actor)
        self._workers.clear()
        self._waking.clear()
        self._connection.__exit__(kind, error, trace)

    def serve(self, run: ModelRun) -> None:
        """Set the run whose shards are computed; workers are started when the first shards are requested."""
        text = run.signature["corpus"]
        gpus = self._connection.gpus_per_worker()
        options = shared_options(run.options)
        if options.device == "auto" and not gpus:
            options = replace(options, device="cpu")  # with auto, all workers of a node would share its first GPU
        self._run = WorkersRun(
            options=options, text=(text.get("documents", 0), text.get("hash", "")), signature=run.signature
        )

    def compute(self, scan_name: str, jobs: Iterator[ShardJob]) -> Iterator[tuple[ShardJob, Sequence[State]]]:
        """Yield jobs with their states, as `ShardExecutor` specifies.

        Raises:
            ModelError: no worker is left, or a shard crashes every worker that computes it.
        """
        if not self._workers:
            self._start()
        scan = _Scan(scan_name, ShardJobs(jobs, ahead=_AT_ONCE * 2 * len(self._workers)))
        while True:
            self._hand_out(scan)
            while (finished := self._fetched(scan.jobs)) is not None:
                yield finished
            if scan.jobs.finished:
                return
            if scan.under_way or self._waking or not self._workers:
                self._await(scan)

    def _start(self) -> None:
        assert self._run is not None
        there, gpus = self.ray.cluster_resources(), self._connection.gpus_per_worker()
        cpus = self.options.cores
        fitting = int(there.get("GPU", 0) // gpus) if gpus else int(there.get("CPU", 1) // cpus)
        number = self.options.workers or max(1, fitting)
        if self.options.ray_address is None and gpus and number > fitting:
            raise OptionError(
                f"{number} workers with {gpus:g} GPU each were requested, and this machine has "
                f"{there.get('GPU', 0):g}; give fewer --workers, or a lower --gpus-per-worker"
            )
        actor = self.ray.remote(num_cpus=cpus, num_gpus=gpus, max_restarts=RESTARTS)(_Actor)
        self._workers = [_Worker(actor.remote(self._run)) for _ in range(number)]
        for worker in self._workers:
            self._wake(worker)

    def _wake(self, worker: _Worker) -> None:
        """Make a worker load its model, wherever Ray starts it; it gets jobs when it has loaded."""
        worker.up = False
        if worker not in self._waking.values():
            self._waking[worker.actor.ready.options(max_task_retries=-1).remote()] = worker

    def _hand_out(self, scan: _Scan) -> None:
        for at_once in range(1, _AT_ONCE + 1):
            for worker in self._workers:
                if not worker.up or worker.jobs >= at_once:
                    continue
                if (number := scan.jobs.next()) is None:
                    return
                job = scan.jobs.job(number)
                done, result = worker.actor.shard.options(num_returns=2).remote(
                    job.stages, scan.name, self.ray.put(job.shard)
                )
                scan.under_way[done] = (worker, number, result)
                worker.jobs += 1

    def _await(self, scan: _Scan) -> None:
        """Wait until a job or a worker's start is done, and record it."""
        began, warned = time.monotonic(), False
        while True:
            pending = [*scan.under_way, *self._waking]
            if not pending:
                raise ModelError(
                    f"all workers of the cluster are gone, each started anew {RESTARTS} times; what was computed is "
                    "kept: look at the logs of the cluster, and run the same command again"
                )
            ended, _ = self.ray.wait(pending, num_returns=1, timeout=1.0, fetch_local=False)
            if ended:
                break
            if not warned and not any(worker.up for worker in self._workers):
                warned = time.monotonic() - began > _WORD_AFTER
                if warned:
                    warnings.warn(self._waits(), stacklevel=2)
        for reference in ended:
            if reference in self._waking:
                self._woken(reference)
            else:
                self._ended(scan, reference)

    def _waits(self) -> str:
        there, gpus = self.ray.cluster_resources(), self._connection.gpus_per_worker()
        return (
            f"no worker is ready yet: each of {len(self._workers)} asks for {self.options.cores} CPU and "
            f"{gpus:g} GPU, and the cluster has {there.get('CPU', 0):g} and {there.get('GPU', 0):g}"
        )

    def _woken(self, reference: Any) -> None:
        worker = self._waking.pop(reference)
        try:
            worker.process = self.ray.get(reference)
        except HeadscopeError as error:
            raise _original_error(error) from None
        except self.ray.exceptions.RayTaskError:
            raise
        except self.ray.exceptions.RayError:
            self._workers.remove(worker)
        else:
            worker.up = True

    def _ended(self, scan: _Scan, reference: Any) -> None:
        worker, number, result = scan.under_way.pop(reference)
        worker.jobs -= 1
        errors = self.ray.exceptions
        try:
            self.ray.get(reference)
        except HeadscopeError as error:
            raise _original_error(error) from None
        except errors.ObjectLostError:
            scan.jobs.again(number)
        except errors.RayTaskError as error:
            if not isinstance(error.cause, errors.ObjectLostError):
                raise
            scan.jobs.again(number)
        except errors.RayError:
            # The job was lost with its worker, or with the worker's machine.
            scan.jobs.lost(number)
            self._wake(worker)
        else:
            scan.jobs.done(number, result)

    def _fetched(self, jobs: ShardJobs) -> tuple[ShardJob, Sequence[State]] | None:
        """Return the next job in order with its states, fetched to this process; None if it is not done."""
        if (ready := jobs.ready()) is None:
            return None
        number, result = ready
        try:
            states = [] if result is None else self.ray.get(result)
        except self.ray.exceptions.ObjectLostError:
            jobs.again(number)
            return None
        return jobs.take(number), states


def _begin(self: Any, run: WorkersRun) -> None:
    self.worker = ShardWorker(run)


def _ready(self: Any) -> int:
    self.worker.ready()
    return os.getpid()


def _shard(self: Any, stages: Sequence[str], scan_name: str, shard: Shard) -> tuple[bool, Any]:
    return True, self.worker.shard(stages, scan_name, shard)


# A `ShardWorker` as Ray runs it: each method returns two results, a completion flag and the state, so that a caller
# who waits for the flag need not have the state sent. Ray needs plain methods, and the runtime type checks of the test
# suite add others to every class statement.
_Actor = type("_Actor", (), {"__init__": _begin, "ready": _ready, "shard": _shard})


def _original_error(error: HeadscopeError) -> BaseException:
    """Return a worker's error as it was raised there, without Ray's wrapper."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, HeadscopeError) else error
