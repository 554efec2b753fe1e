"""The base class of a stage's measurement, with the scans and the tables from their sums, and the result of a stage."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.scans.progress import Watcher
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.scans.scan_runner import ScanRunner
from headscope.statistics.sums.kept import State
from headscope.visible import count


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """The result of one stage of a run.

    Attributes:
        name: name of the stage.
        tables: tables by name, as they are written to `tables/NAME.parquet`.
        facts: entries for the manifest.
        notes: sentences that the user should see.
        state: an accumulator's sums, for later merging.
        seconds: duration in seconds.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    state: State = field(default_factory=dict)
    seconds: float = 0.0


def notes_on_left_out(
    rows_of_kinds: Mapping[str, NDArray[np.int64]], measured: str, *, where: str = ""
) -> Iterator[str]:
    """Yield a note on each kind of attention with rows in which heads write nothing, which are left out.

    Args:
        rows_of_kinds: number of such rows of each head, by kind.
        measured: name of the result that leaves them out.
        where: description of the rows: `over shuffled words`; empty for all rows of the text.
    """
    for kind, rows in rows_of_kinds.items():
        if number := int(rows.sum()):
            heads = f"{kind} heads {where}".rstrip()
            yield (
                f"of {count(number, 'row')} of {heads} nothing at all is written; they are left out of the {measured}"
            )


def notes_on(subject: str, *notes: str | None) -> tuple[str, ...]:
    """Return notes for the user, each after its subject and a colon; None is left out."""
    return tuple(f"{subject}: {note}" for note in notes if note)


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
