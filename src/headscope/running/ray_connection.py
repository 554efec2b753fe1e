"""The options of a Ray cluster, and a connection to it, or to one started on this machine."""

import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from headscope.errors import OptionError
from headscope.installing import how_to_install
from headscope.scans.declarations.option import documented, option

_option = partial(option, None, group="machine")


@documented
@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options that choose a cluster and its resources; an invalid value raises `OptionError`."""

    workers: int | None = _option(least=1, help="With --engine ray: workers; as many as fit when not given.")
    gpus_per_worker: float | None = _option(
        help="With --engine ray: GPUs of each worker, or a share of one; 1 where there are any."
    )
    cpus_per_worker: int | None = _option(least=1, help="With --engine ray: cores of each worker; 1 when not given.")
    ray_address: str | None = _option(
        help="With --engine ray: address of a running cluster, or auto; one on this machine when not given."
    )

    def __post_init__(self) -> None:
        gpus = self.gpus_per_worker
        # A share, so that several fit on one GPU, or a whole number; half of a second GPU is useless.
        if gpus is not None and not (0 <= gpus <= 1 or gpus == int(gpus) > 0):
            raise OptionError(f"--gpus-per-worker {gpus:g}: expected 0, a share such as 0.5, or a whole number")

    @property
    def cores(self) -> int:
        """The number of cores of each worker, and of the threads that it computes with."""
        return 1 if self.cpus_per_worker is None else self.cpus_per_worker


_STARTS = 3
_CONNECT = 10.0  # seconds


class RayConnection:
    """A connection to a cluster that lasts while the block runs.

    Args:
        options: options that choose the cluster and its resources.

    Attributes:
        ray: the `ray` package.

    Raises:
        OptionError: Ray is not installed, or no cluster answers at that address.
    """

    def __init__(self, options: ClusterOptions) -> None:
        try:
            import ray
        except ImportError:
            raise OptionError(f"--engine ray needs Ray; {how_to_install('ray')}") from None
        self.ray: Any = ray
        self.options = options
        self._folder: str | None = None

    def __enter__(self) -> "RayConnection":
        # Ray sends usage statistics to its makers unless this is set.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Ray takes over this signal, but a command has its own handler for it.
        before = signal.getsignal(signal.SIGTERM)
        try:
            _check_address(self.options.ray_address)
            self._connect()
        except Exception as error:  # Ray raises exactly this class, too
            self._remove()
            why = str(error).partition("\n")[0]
            raise OptionError(
                f"no Ray cluster could be used ({why}); start one with ray start --head and give --ray-address its "
                "address, or leave it out for one on this machine"
            ) from None
        finally:
            with suppress(ValueError, TypeError):  # a thread other than the main one, or a handler not set by Python
                signal.signal(signal.SIGTERM, before)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ray.shutdown()
        self._remove()

    def gpus_per_worker(self) -> float:
        """Return the number of GPUs per worker: the option, else one if the cluster has any."""
        gpus = self.options.gpus_per_worker
        return gpus if gpus is not None else float(self.ray.cluster_resources().get("GPU", 0) >= 1)

    def _connect(self) -> None:
        for left in reversed(range(_STARTS)):
            try:
                self.ray.init(**self._how())
                return
            except Exception as error:
                # Ray gives its processes 30 seconds, which is little on a busy machine.
                self.ray.shutdown()
                self._remove()
                if not left or "timed out" not in str(error):
                    raise

    def _how(self) -> dict[str, Any]:
        """Return the arguments of `ray.init`: no output, no dashboard, no access to a local cluster from elsewhere."""
        # Paths of sockets must be short, which the system's own temporary folder may not be.
        parent = "/tmp" if os.path.isdir("/tmp") else None
        self._folder = tempfile.mkdtemp(prefix="headscope-ray-", dir=parent)
        # Without this, workers import from the current folder of the command before any installed package.
        empty = os.path.join(self._folder, "empty")
        os.mkdir(empty)
        how: dict[str, Any] = {
            "log_to_driver": False,
            "logging_level": "ERROR",
            "runtime_env": {"working_dir": empty, "env_vars": {"PYTHONSAFEPATH": "1"}},
        }
        if self.options.ray_address is not None:
            return {**how, "address": self.options.ray_address}
        # Ray puts the path into a shell's command line, where a space would end it.
        how["runtime_env"]["py_executable"] = shlex.quote(sys.executable)
        cores = max(os.cpu_count() or 1, (self.options.workers or 1) * self.options.cores)
        return {
            **how,
            "address": "local",
            "num_cpus": cores,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
            "_temp_dir": self._folder,
        }

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _check_address(address: str | None) -> None:
    """Check that something listens at an address, because Ray would wait for minutes.

    Raises:
        OSError: nothing listens there.
    """
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_CONNECT).close()
