"""What a user says of the cluster that shall compute a run's shards."""

from dataclasses import dataclass

from headscope.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Which cluster, and what of it.

    Attributes:
        workers: processes with a model each; None for as many as fit.
        gpus_per_worker: what each holds of a GPU, or how many; None for one where the cluster has any.
        cpus_per_worker: cores of each, and threads that it computes with.
        address: of a cluster that runs already; None starts one on this machine.

    Raises:
        OptionError: one of them cannot be.
    """

    workers: int | None = None
    gpus_per_worker: float | None = None
    cpus_per_worker: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise OptionError(
                f"--workers {self.workers}: expected 1 or more; leave it out for as many as fit"
            )
        if self.cpus_per_worker < 1:
            raise OptionError(f"--cpus-per-worker {self.cpus_per_worker}: expected 1 or more")
        gpus = self.gpus_per_worker
        # A share, so that several fit on one GPU, or whole ones; half a GPU of another is no use.
        if gpus is not None and not (0 <= gpus <= 1 or gpus == int(gpus) > 0):
            raise OptionError(
                f"--gpus-per-worker {gpus:g}: expected 0, a share such as 0.5, or a whole number"
            )
