"""Options for the cluster that computes a run's shards."""

from dataclasses import dataclass
from functools import partial

from headscope.declarations.option import documented, option
from headscope.errors import OptionError

_option = partial(option, None, group="machine")


@documented
@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options that choose a cluster and its resources; an invalid value raises `OptionError`."""

    workers: int | None = _option(help="With --engine ray: workers; as many as fit when not given.")
    gpus_per_worker: float | None = _option(
        help="With --engine ray: GPUs of each worker, or a share of one; 1 where there are any."
    )
    cpus_per_worker: int | None = _option(help="With --engine ray: cores of each worker; 1 when not given.")
    ray_address: str | None = _option(
        help="With --engine ray: address of a running cluster, or auto; one on this machine when not given."
    )

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise OptionError(f"--workers {self.workers}: expected 1 or more; leave it out for as many as fit")
        if self.cores < 1:
            raise OptionError(f"--cpus-per-worker {self.cores}: expected 1 or more")
        gpus = self.gpus_per_worker
        # A share, so that several fit on one GPU, or a whole number; half of a second GPU is useless.
        if gpus is not None and not (0 <= gpus <= 1 or gpus == int(gpus) > 0):
            raise OptionError(f"--gpus-per-worker {gpus:g}: expected 0, a share such as 0.5, or a whole number")

    @property
    def cores(self) -> int:
        """The number of cores of each worker, and of the threads that it computes with."""
        return 1 if self.cpus_per_worker is None else self.cpus_per_worker
