"""From a prepared run to its tables, in memory."""

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from headscope.attention.anatomy import KindLayout
from headscope.attention.scan import ScanCounts, scan
from headscope.attention.source import TileSource
from headscope.heads.behaviours import roles
from headscope.heads.examples import ExampleCollector, ExampleMaps, examples_table
from headscope.statistics.accumulator import State
from headscope.statistics.surface import SurfaceAccumulator
from headscope.study.maps_run import MapsRun
from headscope.study.model_run import ModelRun
from headscope.study.options import Progress, RunOptions, Watcher
from headscope.study.results import surface_table


@runtime_checkable
class Run(Protocol):
    """What can be measured: a model over text, or saved maps."""

    options: RunOptions
    signature: dict[str, Any]

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The kinds of attention."""

    @property
    def total(self) -> int | None:
        """Documents in all, where that is known."""

    def done(self, segments: int) -> int:
        """About how many documents so many computed segments make up."""

    def source(self) -> TileSource:
        """Return the stream of tiles."""

    def example_source(self) -> TileSource:
        """Return the stream of tiles over a few short inputs."""

    def names(self, maps: ExampleMaps) -> tuple[list[str], list[str]]:
        """Return readable tokens of a map's rows and columns."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the run beyond its signature."""


@dataclass(frozen=True)
class Measured:
    """What a run found, in memory.

    Attributes:
        manifest: signature, kinds, counts, timings, notes.
        surface: the table `surface.parquet`.
        examples: the table `examples.parquet`.
        state: the accumulator's sums, for later merging.
    """

    manifest: dict[str, Any]
    surface: pd.DataFrame
    examples: pd.DataFrame
    state: State


def prepare(options: RunOptions) -> Run:
    """Load what the options name and work out the run's signature, without scanning yet.

    Raises:
        HeadscopeError: the model, the corpus or an option is not as it should be.
    """
    return MapsRun(options) if options.maps is not None else ModelRun(options)


def measure(run: Run, *, watch: Watcher | None = None) -> Measured:
    """Scan once, compute the tables, and choose the examples.

    Args:
        run: from `prepare`.
        watch: told of progress after each batch.
    """
    began = time.perf_counter()
    sums = SurfaceAccumulator(run.layout)

    def tell(done: ScanCounts) -> None:
        if watch is not None:
            limit = run.options.limit
            documents = run.done(done.segments)
            watch(Progress("reading heads", documents, run.total, done.segments, limit, done.seconds))

    scanned = scan(run.source(), [sums], progress=tell)
    surface = surface_table(sums.compute(seed=run.options.seed))
    collector = ExampleCollector()
    scan(run.example_source(), [collector])
    examples = examples_table(collector.maps, surface, roles(surface), names=run.names)
    manifest = {
        "headscope": run.signature["versions"]["headscope"],
        "created": datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z"),
        "complete": True,
        "signature": run.signature,
        "kinds": [asdict(part) for part in run.layout],
        "timings": {
            "scan_s": round(scanned.seconds, 3),
            "total_s": round(time.perf_counter() - began, 3),
        },
        **run.facts(),
    }
    return Measured(manifest=manifest, surface=surface, examples=examples, state=sums.state())
