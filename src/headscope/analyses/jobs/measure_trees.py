"""The stage of jobs in a treebank, where parts of speech are known."""

from collections.abc import Iterator

from headscope.analyses.jobs.job_tables import job_tables
from headscope.analyses.jobs.measure import samples_with_jobs
from headscope.analyses.jobs.tables import TREES
from headscope.analyses.jobs.tagged_rows import TaggedRowAccumulator
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.prepare.prepared_run import Run
from headscope.prepare.trees import TreesCorpus, trees_of
from headscope.scans.scan_declaration import Scan, ScanSums


class TreeJobsMeasurement(Measurement[Run]):
    """The jobs of every head in the sentences of a treebank, or of maps of one.

    The scan raises `InputError` where the treebank has no tree, the maps are not of a treebank, or their tags are not
    one a word.
    """

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the sentences."""
        rows = TaggedRowAccumulator(self.run.layout, seed=self.run.options.seed)
        trees = trees_of(self.run)
        corpus = TreesCorpus(self.run, trees, trees.source)
        yield Scan(corpus, [rows], label="jobs of heads in the treebank")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables."""
        rows = sums.of(TaggedRowAccumulator)
        samples = samples_with_jobs(self.run, rows)
        tagged = any(sample.rows["row_tag"].any() for sample, _ in samples)
        has_rows = any(len(sample.rows) for sample, _ in samples)
        return StageResult(
            name="tree_jobs",
            tables=job_tables(self.run, samples, corpus=TREES),
            notes=notes_on(
                "treebank",
                "no word has a part of speech that is known (NOUN, or NN): jobs are told apart without"
                if has_rows and not tagged
                else None,
            ),
            state=rows.state(),
        )
