"""The stage of jobs in a treebank, where parts of speech are known."""

from headscope.analyses.jobs.job_tables import job_tables
from headscope.analyses.jobs.measure import samples_with_jobs
from headscope.analyses.jobs.tables import TREES
from headscope.analyses.jobs.tagged_rows import TaggedRowAccumulator
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.prepare.prepared_run import Run
from headscope.prepare.progress import Watcher
from headscope.prepare.trees import scan_trees, trees_of


def measure_tree_jobs(run: Run, watch: Watcher | None = None) -> StageResult:
    """Find the jobs of every head in the sentences of a treebank.

    Args:
        run: with a treebank, or over maps of one.
        watch: told of progress.

    Raises:
        InputError: the treebank has no tree, the maps are not of a treebank, or their tags are not one a word.
    """
    rows = scan_tree_jobs(run, watch)
    samples = samples_with_jobs(run, rows)
    tagged = any(sample.rows["row_tag"].any() for sample, _ in samples)
    has_rows = any(len(sample.rows) for sample, _ in samples)
    return StageResult(
        name="tree_jobs",
        tables=job_tables(run, samples, corpus=TREES),
        notes=notes_on(
            "treebank",
            "no word has a part of speech that is known (NOUN, or NN): jobs are told apart without"
            if has_rows and not tagged
            else None,
        ),
        state=rows.state(),
    )


def scan_tree_jobs(run: Run, watch: Watcher | None = None) -> TaggedRowAccumulator:
    """Return a sample of the treebank's rows."""
    rows = TaggedRowAccumulator(run.layout, seed=run.options.seed)
    scan_trees(run, trees_of(run), [rows], said="jobs of heads in the treebank", watch=watch)
    return rows
