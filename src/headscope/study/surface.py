"""The stage of section 3: what heads look at in text, and sentences on which to draw them."""

import time
from typing import Any

from headscope.attention.scan import ScanCounts, scan
from headscope.heads.behaviours import roles
from headscope.heads.examples import ExampleCollector, examples_table
from headscope.statistics.surface import SurfaceAccumulator
from headscope.study.options import Progress, Watcher
from headscope.study.results import StageResult, surface_table


def measure_surface(run: Any, watch: Watcher | None = None) -> StageResult:
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
