"""The stage of distances between heads (section 6): a scan of the text, and its table."""

from headscope.analyses.distances.accumulator import DivergenceAccumulator
from headscope.analyses.distances.pair_table import pair_table
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.prepare.prepared_run import Stream
from headscope.prepare.progress import Watcher
from headscope.prepare.shared_scan import read_text
from headscope.statistics.kept import in_single_precision


def measure_distances(run: Stream, watch: Watcher | None = None) -> StageResult:
    """Measure the Jensen-Shannon divergence between all heads of a kind.

    Args:
        run: a `ModelRun` over text, or a `MapsRun`.
        watch: told of progress.
    """
    sums = scan_distances(run, watch)
    results = sums.compute()
    facts = {
        result.kind: {"segments": result.segments, "rows": result.n, "rows_read": result.rows_read}
        for result in results
    }
    sampled = [
        f"of {result.n:,} rows of {result.kind} attention a seeded sample of {result.rows_read:,} was read; "
        "sampling_error says how far off that may be"
        for result in results
        if result.rows_read < result.n
    ]
    return StageResult(
        name="distances",
        tables={"head_distances": pair_table(results)},
        facts={"distances": facts},
        notes=notes_on("distances", *sampled),
        state=in_single_precision(sums.state()),
    )


def scan_distances(run: Stream, watch: Watcher | None = None) -> DivergenceAccumulator:
    """Sum the divergences over the text."""
    (sums,) = distance_sums(run)
    read_text(run, [sums], stage="distances", said="head distances", watch=watch)
    return sums


def distance_sums(run: Stream) -> tuple[DivergenceAccumulator]:
    """Return the accumulators of the text."""
    return (DivergenceAccumulator(run.layout, seed=run.options.seed),)
