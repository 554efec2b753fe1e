"""The stage of jobs: scans of the text, of a part of it with random weights, and of a treebank; and the tables."""

from collections.abc import Iterator
from functools import cached_property

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.head_jobs import head_jobs
from headscope.analyses.jobs.job_tables import Samples, job_counts, job_tables
from headscope.analyses.jobs.tables import TEXT, TREEBANK
from headscope.analyses.jobs.tagged_rows import TaggedRowAccumulator
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.encoding.segment import Segment
from headscope.prepare.drawn_inputs import DrawnInputs
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import Run
from headscope.prepare.trees import TreesCorpus, trees_of
from headscope.scans.scan_declaration import RunText, Scan, ScanSums

CONTROL_INPUTS = 256
"""Number of inputs read with random weights, enough for 2,048 rows of a head where inputs are long."""
CONTROL = "control-0"


class JobsMeasurement(Measurement[Run]):
    """The jobs of every head in the text and in a given treebank, and how many are found with random weights."""

    @cached_property
    def control_inputs(self) -> list[Segment]:
        """The part of the text that is read with random weights."""
        assert isinstance(self.run, ModelRun)
        return self.run.sample(CONTROL_INPUTS)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text, that of a part of it with random weights, and that of a treebank's sentences.

        One random model is enough, because what is compared is a count over its many heads. The last scan raises
        `InputError` where the treebank has no tree.
        """
        run, seed = self.run, self.run.options.seed
        rows = ActiveRowAccumulator(run.layout, seed=seed)
        yield Scan(RunText(run), [rows], label="jobs of heads")
        if isinstance(run, ModelRun) and run.controls:
            inputs = DrawnInputs(run, lambda: self.control_inputs, control=0)
            rows = ActiveRowAccumulator(run.layout, seed=seed)
            yield Scan(inputs, [rows], CONTROL, label="jobs of heads: control")
        if run.options.treebank:
            trees, rows = trees_of(run), TaggedRowAccumulator(run.layout, seed=seed)
            corpus = TreesCorpus(run, trees, trees.source)
            yield Scan(corpus, [rows], TREEBANK, label="jobs of heads in the treebank")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables."""
        text = sums.of(ActiveRowAccumulator)
        samples, state, note = {TEXT: samples_with_jobs(self.run, text)}, text.state(), None
        control: Samples = []
        if CONTROL in sums:
            control = samples_with_jobs(self.run, sums.of(ActiveRowAccumulator, CONTROL))
        if TREEBANK in sums:
            tagged = sums.of(TaggedRowAccumulator, TREEBANK)
            samples[TREEBANK] = samples_with_jobs(self.run, tagged)
            state |= {f"{TREEBANK}.{name}": array for name, array in tagged.state().items()}
            note = _untagged(samples[TREEBANK])
        return StageResult(
            name="jobs",
            tables={**job_tables(self.run, samples), "job_counts": job_counts(samples, control)},
            notes=notes_on(TREEBANK, note),
            state=state,
        )


def _untagged(samples: Samples) -> str | None:
    """Return a note where rows were read and no word of theirs has a part of speech that is known."""
    rows = [sample.rows for sample, _ in samples]
    if any(of_kind["row_tag"].any() for of_kind in rows) or not any(map(len, rows)):
        return None
    return "no word has a part of speech that is known (NOUN, or NN): jobs are told apart without"


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
