"""From a prepared run to its tables, stage by stage."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from headscope.attention.anatomy import KindLayout
from headscope.attention.scan import ScanCounts, scan
from headscope.attention.source import TileSource
from headscope.heads.behaviours import roles
from headscope.heads.examples import ExampleCollector, ExampleMaps, examples_table
from headscope.statistics.surface import SurfaceAccumulator
from headscope.study.maps_run import MapsRun
from headscope.study.model_run import ModelRun
from headscope.study.options import Progress, RunOptions, Watcher
from headscope.study.results import StageResult, surface_table


@runtime_checkable
class Run(Protocol):
    """What can be measured: a model over corpora, or saved maps."""

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


Measure = Callable[[Run, Watcher | None], StageResult]


def prepare(options: RunOptions) -> Run:
    """Load what the options name and work out the run's signature, without scanning yet.

    Raises:
        HeadscopeError: the model, the corpus or an option is not as it should be.
    """
    return MapsRun(options) if options.maps is not None else ModelRun(options)


def stages_of(run: Run) -> dict[str, Measure]:
    """Return what the run measures, by name, in order; later stages do not read earlier ones."""
    found: dict[str, Measure] = {}
    if "surface" in run.options.wanted:
        found["surface"] = measure_surface
    if "syntax" in run.options.wanted:
        from headscope.study.syntax import measure_syntax

        found["syntax"] = measure_syntax
    if isinstance(run, ModelRun) and run.coreference is not None:
        from headscope.study.coreference import measure_coreference

        found["coreference"] = measure_coreference
    if isinstance(run, ModelRun) and run.gap is not None:
        from headscope.study.gap import measure_gap

        found["gap"] = measure_gap
    return found


def measure(run: Run, *, watch: Watcher | None = None) -> Iterator[StageResult]:
    """Measure the stages one after another.

    Args:
        run: from `prepare`.
        watch: told of progress after each batch.
    """
    for stage in stages_of(run).values():
        yield stage(run, watch)


def measure_surface(run: Run, watch: Watcher | None = None) -> StageResult:
    """Measure what heads look at in text: one scan, the table, and the examples."""
    began = time.perf_counter()
    sums = SurfaceAccumulator(run.layout)

    def tell(done: ScanCounts) -> None:
        if watch is not None:
            limit = run.options.limit
            documents = run.done(done.segments)
            watch(Progress("reading heads", documents, run.total, done.segments, limit, done.seconds))

    scan(run.source(), [sums], progress=tell)
    surface = surface_table(sums.compute(seed=run.options.seed))
    collector = ExampleCollector()
    scan(run.example_source(), [collector])
    examples = examples_table(collector.maps, surface, roles(surface), names=run.names)
    return StageResult(
        name="surface",
        tables={"surface": surface, "examples": examples},
        state=sums.state(),
        seconds=time.perf_counter() - began,
    )


def manifest_of(run: Run) -> dict[str, Any]:
    """Return a run's manifest before its stages: what it is, and that it is not complete."""
    return {
        "headscope": run.signature["versions"]["headscope"],
        "created": datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z"),
        "complete": False,
        "signature": run.signature,
        "kinds": [asdict(part) for part in run.layout],
        "stages": {},
        **run.facts(),
    }


def with_stage(manifest: dict[str, Any], run: Run, result: StageResult) -> dict[str, Any]:
    """Return the manifest with what a stage found, and the counts as they are now."""
    facts = run.facts() if result.name == "surface" else {}
    notes = list(dict.fromkeys([*manifest["notes"], *facts.pop("notes", []), *result.notes]))
    done = {
        **manifest["stages"],
        result.name: {"seconds": round(result.seconds, 3), "tables": list(result.tables)},
    }
    return {**manifest, **facts, **result.facts, "notes": notes, "stages": done}
