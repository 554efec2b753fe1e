"""The stage of heads' jobs: one scan of the text, one of a part of it with random weights, and its tables."""

from functools import partial

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.found_jobs import found_jobs
from headscope.analyses.jobs.tables import TEXT
from headscope.analyses.jobs.written_jobs import Found, job_counts, job_tables
from headscope.analyses.stage_result import StageResult
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import Run, Stream
from headscope.prepare.progress import Watcher, scan_teller
from headscope.prepare.sharded_scan import scan_shards
from headscope.prepare.shared_scan import read_text

CONTROL_INPUTS = 256
"""So many inputs are read with random weights, which is enough for 2,048 rows of a head where inputs are long."""


def measure_jobs(run: Run, watch: Watcher | None = None) -> StageResult:
    """Find the jobs of every head.

    Args:
        run: a `ModelRun` over text, or a `MapsRun`.
        watch: told of progress.
    """
    rows = scan_text(run, watch)
    found, control = found_in(run, rows), scan_control(run, watch)
    counts = job_counts(found, None if control is None else found_in(run, control))
    tables = {**job_tables(run, found, corpus=TEXT), "job_counts": counts}
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


def scan_jobs(run: Run, watch: Watcher | None = None) -> None:
    """Scan this part's shards, with the trained model and with random weights."""
    scan_text(run, watch)
    scan_control(run, watch)


def scan_control(run: Run, watch: Watcher | None = None) -> ActiveRowAccumulator | None:
    """Keep a sample of the rows of a part of the text, of a model with random weights; None where there is no model.

    One such model: its heads are many, and beside them stands a count of heads.
    """
    if not isinstance(run, ModelRun) or not run.options.controls:
        return None
    segments = run.sample(CONTROL_INPUTS)
    (rows,) = job_sums(run)
    source = run.over(segments, control=0)
    documents = len({segment.document for segment in segments})
    tell = scan_teller(
        watch,
        "jobs of heads: control",
        partial(_documents, documents, len(segments)),
        total=documents,
        limit=len(segments),
    )
    scan_shards(source, [rows], kept=run.kept, scan_name="control-0", progress=tell)
    return rows


def _documents(documents: int, segments: int, done: int) -> int:
    """About how many documents so many of the inputs make up."""
    return documents * done // max(1, segments)


def scan_text(run: Stream, watch: Watcher | None = None) -> ActiveRowAccumulator:
    """Keep a sample of the text's rows."""
    (rows,) = job_sums(run)
    read_text(run, [rows], stage="jobs", said="jobs of heads", watch=watch)
    return rows


def job_sums(run: Stream) -> tuple[ActiveRowAccumulator]:
    """Return what the stage keeps of the text."""
    return (ActiveRowAccumulator(run.layout, seed=run.options.seed),)
