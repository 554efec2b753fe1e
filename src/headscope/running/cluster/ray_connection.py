"""Joining a Ray cluster, or starting one on this machine, and leaving it again without a trace."""

import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from types import TracebackType
from typing import Any

from headscope.errors import OptionError
from headscope.installing import how_to_install
from headscope.running.cluster.cluster_options import ClusterOptions

_STARTS = 3
_CONNECT = 10.0  # seconds


class RayConnection:
    """A cluster that is connected to while the block runs.

    Args:
        options: which cluster, and what of it.

    Attributes:
        ray: the package.

    Raises:
        OptionError: Ray is not installed, or there is no cluster of that address.
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
        # Ray sends statistics of use to its makers unless told not to.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # It takes this signal for itself; a command has its own way of being stopped.
        before = signal.getsignal(signal.SIGTERM)
        try:
            _check_address(self.options.ray_address)
            self._connect()
        except Exception as error:  # Ray raises that very class, too
            self._remove()
            why = str(error).partition("\n")[0]
            raise OptionError(
                f"no Ray cluster could be used ({why}); start one with ray start --head and give --ray-address its "
                "address, or leave it out for one on this machine"
            ) from None
        finally:
            with suppress(ValueError, TypeError):  # another thread than the main one, or a handler that is not Python's
                signal.signal(signal.SIGTERM, before)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ray.shutdown()
        self._remove()

    def gpus_per_worker(self) -> float:
        """Return how many GPUs a worker gets: what was asked for, else one where the cluster has any."""
        gpus = self.options.gpus_per_worker
        return gpus if gpus is not None else float(self.ray.cluster_resources().get("GPU", 0) >= 1)

    def _connect(self) -> None:
        for left in reversed(range(_STARTS)):
            try:
                self.ray.init(**self._how())
                return
            except Exception as error:
                # Ray gives its processes 30 seconds, which is little on a machine that is busy.
                self.ray.shutdown()
                self._remove()
                if not left or "timed out" not in str(error):
                    raise

    def _how(self) -> dict[str, Any]:
        """Return what Ray is told: nothing printed, no page served, and on this machine no other can connect."""
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
    """Look whether anything listens at an address, for which Ray would wait minutes.

    Raises:
        OSError: nothing does.
    """
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_CONNECT).close()
