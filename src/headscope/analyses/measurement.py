"""What measures a stage: the scans that it declares, and the tables that it computes from their sums."""

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
    """A stage of a run: what it sums up over which corpus, and the tables that it makes of the sums.

    A subclass declares its scans as data and computes tables from their sums. Whoever runs it shares passes over the
    text between stages, keeps shards so that a run that is stopped goes on, and sends shards to a cluster. An instance
    is cheap: what is heavy is loaded when a scan is run, or in `compute`.

    Args:
        run: what is measured.
        earlier: results of the stages that the stage is declared to come `after`, by name.
        watch: told of progress.
    """

    def __init__(
        self, run: R, *, earlier: Mapping[str, StageResult] = NO_RESULTS, watch: Watcher | None = None
    ) -> None:
        self.run, self.earlier, self.watch = run, earlier, watch

    def check(self) -> None:
        """Refuse what cannot be measured, by what is known before anything is read.

        Raises:
            HeadscopeError: an option, or the model, is none that this stage can be measured with.
        """

    def scans(self) -> Iterable[Scan]:
        """Yield what is to be summed up; the same scans whenever it is called, in every process."""
        return ()

    @abstractmethod
    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables.

        Args:
            sums: the filled accumulators of `scans`.
        """

    def measure(self) -> StageResult:
        """Run the scans by themselves, in this process, and compute the tables."""
        return self.compute(ScanRunner().run("scan", self.scans(), self.watch))
