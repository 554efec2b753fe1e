"""The stage of jobs: a scan of the text, a scan of some of it with random weights, and the tables."""

from functools import partial

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.head_jobs import head_jobs
from headscope.analyses.jobs.job_tables import Samples, job_counts, job_tables
from headscope.analyses.jobs.tables import TEXT
from headscope.analyses.stage_result import StageResult
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import Run, Stream
from headscope.prepare.progress import Watcher, scan_teller
from headscope.prepare.sharded_scan import scan_shards
from headscope.prepare.shared_scan import read_text

CONTROL_INPUTS = 256
"""Number of inputs read with random weights, enough for 2,048 rows of a head where inputs are long."""


def measure_jobs(run: Run, watch: Watcher | None = None) -> StageResult:
    """Find the jobs of every head.

    Args:
        run: a `ModelRun` over text, or a `MapsRun`.
        watch: told of progress.
    """
    rows = scan_text(run, watch)
    samples, control = samples_with_jobs(run, rows), scan_control(run, watch)
    counts = job_counts(samples, None if control is None else samples_with_jobs(run, control))
    tables = {**job_tables(run, samples, corpus=TEXT), "job_counts": counts}
    return StageResult(name="jobs", tables=tables, state=rows.state())


def samples_with_jobs(run: Run, rows: ActiveRowAccumulator) -> Samples:
    """Return the sample of each kind of attention with its jobs.

    Args:
        run: what was read.
        rows: the samples.
    """
    # In word-level maps the ids of words are numbers within their input.
    same_ids = not (isinstance(run, MapsRun) and run.signature["options"]["word_level"] is not None)
    from threadpoolctl import threadpool_limits

    seed = run.options.seed
    # A head has few rows, for which threads cost more than they save.
    with threadpool_limits(1):
        return [(sample, list(head_jobs(sample, seed=seed, same_ids=same_ids))) for sample in rows.compute()]


def scan_jobs(run: Run, watch: Watcher | None = None) -> None:
    """Scan this part's shards, with the trained model and with random weights."""
    scan_text(run, watch)
    scan_control(run, watch)


def scan_control(run: Run, watch: Watcher | None = None) -> ActiveRowAccumulator | None:
    """Return a sample of the rows of a model with random weights over some of the text; None where there is no model.

    One random model is enough, because what is compared is a count over its many heads.
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
    """Estimate the number of documents in the inputs that are done."""
    return documents * done // max(1, segments)


def scan_text(run: Stream, watch: Watcher | None = None) -> ActiveRowAccumulator:
    """Return a sample of the text's rows."""
    (rows,) = job_sums(run)
    read_text(run, [rows], stage="jobs", said="jobs of heads", watch=watch)
    return rows


def job_sums(run: Stream) -> tuple[ActiveRowAccumulator]:
    """Return the accumulators of the text."""
    return (ActiveRowAccumulator(run.layout, seed=run.options.seed),)
