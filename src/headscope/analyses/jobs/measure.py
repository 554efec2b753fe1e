"""The stage of heads' jobs: one scan of the text, and its tables."""

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.found_jobs import found_jobs
from headscope.analyses.jobs.tables import TEXT
from headscope.analyses.jobs.written_jobs import Found, job_tables
from headscope.analyses.stage_result import StageResult
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.prepared_run import Run, Stream
from headscope.prepare.progress import Watcher
from headscope.prepare.shared_scan import read_text


def measure_jobs(run: Run, watch: Watcher | None = None) -> StageResult:
    """Find the jobs of every head.

    Args:
        run: a `ModelRun` over text, or a `MapsRun`.
        watch: told of progress.
    """
    rows = scan_jobs(run, watch)
    tables = job_tables(run, found_in(run, rows), corpus=TEXT)
    return StageResult(name="jobs", tables=tables, state=rows.state())


def found_in(run: Run, rows: ActiveRowAccumulator) -> Found:
    """Return the sample of each kind of attention, and the jobs found in it.

    Args:
        run: what was read.
        rows: the samples.
    """
    # Maps joined to words name words by numbers of their own input.
    same_ids = not (isinstance(run, MapsRun) and run.signature["options"]["word_level"] is not None)
    from threadpoolctl import threadpool_limits

    seed = run.options.seed
    # A head has few rows: threads would wait for one another, on a busy machine for ever.
    with threadpool_limits(1):
        return [(kept, list(found_jobs(kept, seed=seed, same_ids=same_ids))) for kept in rows.compute()]


def scan_jobs(run: Stream, watch: Watcher | None = None) -> ActiveRowAccumulator:
    """Keep a sample of the text's rows."""
    (rows,) = job_sums(run)
    read_text(run, [rows], stage="jobs", said="jobs of heads", watch=watch)
    return rows


def job_sums(run: Stream) -> tuple[ActiveRowAccumulator]:
    """Return what the stage keeps of the text."""
    return (ActiveRowAccumulator(run.layout, seed=run.options.seed),)
