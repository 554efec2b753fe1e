"""The explanation stage: scans of the text, of a part of it with random weights, and of annotated corpora; tables."""

from collections.abc import Iterator
from functools import cached_property

from headscope.analyses.coref.windows import MentionWindows
from headscope.analyses.explanation.catalog import Catalog, catalog_with
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.fitted import FittedHeads
from headscope.analyses.explanation.sample import contexts_of, row_sample, token_counts
from headscope.analyses.explanation.sentence import WordNames
from headscope.analyses.explanation.sums import MOST_ROWS, RowSampleAccumulator
from headscope.analyses.explanation.table_rows import Rows, example_records, explanation_tables, head_rows
from headscope.analyses.explanation.tables import CONTROL, COREFERENCE, MEASURES, TEXT, TRAINED, TREEBANK, WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.analyses.measurement import Measurement, StageResult
from headscope.scans.prepare.drawn_inputs import control_text
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.prepare.trees import TreesCorpus, trees_of
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.statistic import Special
from headscope.statistics.sums.kept import State

CONTROL_ROWS = 256
"""Number of rows that are explained with random weights."""
ANNOTATED_ROWS = 800
"""Number of rows that are explained in a treebank, and in a coreference corpus."""
_CONTROL = "control-0"


class ExplanationMeasurement(Measurement[ModelRun]):
    """Explains the attention of every head by features, in the text and in the annotated corpora of the run."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scans of the text, of a part of the text with random weights, and of annotated corpora.

        Raises:
            InputError: the treebank has no tree.
            OptionError: the name of a user's feature exists already.
        """
        run, _ = self.run, self._catalog
        yield Scan(RunText(run), [self._sample()], label="explanation")
        if run.controls:
            yield Scan(
                control_text(run, control=0), [self._sample(CONTROL_ROWS)], _CONTROL, label="explanation: control"
            )
        if run.options.treebank:
            trees = trees_of(run)
            corpus = TreesCorpus(run, trees, trees.source)
            yield Scan(corpus, [self._sample(ANNOTATED_ROWS)], TREEBANK, label="explanation: treebank")
        # GAP files alone are not a corpus of entities.
        if run.corpora.coreference is not None and run.options.coref:
            yield Scan(
                MentionWindows(run), [self._sample(ANNOTATED_ROWS)], COREFERENCE, label="explanation: coreference"
            )

    def _sample(self, most: int = MOST_ROWS) -> RowSampleAccumulator:
        return RowSampleAccumulator(self.run.layout, seed=self.run.options.seed, most=most)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables."""
        from threadpoolctl import threadpool_limits

        scans = {TRAINED: (TEXT, TRAINED), _CONTROL: (TEXT, CONTROL)}
        scans |= {corpus: (corpus, TRAINED) for corpus in (TREEBANK, COREFERENCE)}
        samples = {of: sums.of(RowSampleAccumulator, name) for name, of in scans.items() if name in sums}
        state = samples[TEXT, TRAINED].state()
        tables: tuple[Rows, Rows, Rows] = ([], [], [])
        # One thread gives the same digits on every machine.
        with threadpool_limits(1):
            for (corpus, model), sample in samples.items():
                state |= self._explained(sample, corpus, model, tables)
                if corpus != TEXT:
                    state |= {f"{corpus}.{name}": array for name, array in sample.state().items()}
        return StageResult(name="explanation", tables=explanation_tables(*tables), state=state)

    def _explained(
        self, sample: RowSampleAccumulator, corpus: str, model: str, tables: tuple[Rows, Rows, Rows]
    ) -> State:
        """Explain a sample, and return the fits to the trained model's weights if the sample is of the text.

        Args:
            sample: sampled rows of attention.
            corpus: corpus of the rows.
            model: `trained` or `control`; all measures are explained only for the trained model in the text.
            tables: lists to which the rows of explanations, groups and examples are added.
        """
        classes, seed, is_trained = self.run.encoder.vocabulary, self.run.options.seed, model == TRAINED
        special = Special(cls=classes.cls_name, sep=classes.sep_name or "the end")
        of_text = is_trained and corpus == TEXT
        explanations, groups, examples = tables
        state: State = {}
        for kind, samples in sample.compute().items():
            if not samples:
                continue
            counts = token_counts(samples)
            vocabulary = self._vocabulary.with_counts(counts)
            design = row_sample(samples, list(self._catalog.features.values()), contexts_of(vocabulary), seed=seed)
            names = WordNames(vocabulary, counts, design.columns)
            explained = explain(
                design, samples[0].attention.shape[1], MEASURES if of_text else (WEIGHT,), catalog=self._catalog,
                ordered=is_trained, positions=of_text, examples=is_trained,
            )  # fmt: skip
            if of_text and len(design.names) >= FEWEST_DOCUMENTS:
                state |= FittedHeads.of(design, explained[WEIGHT]).state(kind)
            for measure, layers in explained.items():
                for layer, heads in enumerate(layers):
                    of_layer = {"corpus": corpus, "kind": kind, "layer": layer + 1}
                    of = {**of_layer, "measure": measure, "model": model}
                    of_heads, of_groups = head_rows(of, heads, names=names, special=special, catalog=self._catalog)
                    explanations += of_heads
                    groups += of_groups
                    examples += example_records(of_layer, heads, sample=design, tokenizer=self.run.loaded.tokenizer)
        return state

    @cached_property
    def _catalog(self) -> Catalog:
        return catalog_with(self.run.options.features)

    @cached_property
    def _vocabulary(self) -> VocabularyFacts:
        return VocabularyFacts.of_model(self.run.loaded.model, self.run.loaded.tokenizer)
