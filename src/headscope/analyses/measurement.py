"""The base class of a stage's measurement: the scans that it declares, and the tables computed from their sums."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from headscope.analyses.stage_result import StageResult
from headscope.scans.progress import Watcher
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.scans.scan_runner import ScanRunner

R = TypeVar("R")
NO_RESULTS: Mapping[str, StageResult] = MappingProxyType({})


class Measurement(ABC, Generic[R]):
    """The measurement of a stage: the sums over a corpus, and the tables that are computed from them.

    A subclass declares its scans as data and computes tables from their sums. The caller shares passes over the text
    between stages, keeps shards so that an interrupted run can resume, and sends shards to a cluster. An instance is
    cheap: expensive objects are loaded when a scan is run, or in `compute`.

    Args:
        run: run to measure.
        earlier: results of the stages declared in `after`, by name.
        watch: callback for progress.
    """

    def __init__(
        self, run: R, *, earlier: Mapping[str, StageResult] = NO_RESULTS, watch: Watcher | None = None
    ) -> None:
        self.run, self.earlier, self.watch = run, earlier, watch

    def check(self) -> None:
        """Raise an error for a run that cannot be measured, from the facts known before anything is read.

        Raises:
            HeadscopeError: an option, or the model, cannot be used with this stage.
        """

    def scans(self) -> Iterable[Scan]:
        """Yield the scans of the stage; the same scans whenever it is called, in every process."""
        return ()

    @abstractmethod
    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables.

        Args:
            sums: the filled accumulators of `scans`.
        """

    def measure(self) -> StageResult:
        """Run the scans in this process, without other stages, and compute the tables."""
        return self.compute(ScanRunner().run("scan", self.scans(), self.watch))
