"""The stage of explanations: a scan of the text, a scan of some of it with random weights, and the tables."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.annotation import annotation_of
from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.example_tables import example_records
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.explanation_tables import Rows, explanation_tables, head_rows
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.row_sample import RowSampleAccumulator, SampledRows
from headscope.analyses.explanation.sample_design import ContextOf, sample_design
from headscope.analyses.explanation.tables import CONTROL, MEASURES, TRAINED, WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.encoding.segment import Segment
from headscope.prepare.drawn_inputs import DrawnInputs
from headscope.prepare.model_run import ModelRun
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import too_few
from headscope.statistics.statistic import Special

CONTROL_INPUTS, CONTROL_ROWS = 128, 512
"""Number of inputs read with random weights, and of rows that are explained of them."""
_CONTROL = "control-0"


class ExplanationMeasurement(Measurement[ModelRun]):
    """What every head attends to, explained by features, and the same for a model with random weights."""

    @cached_property
    def control_inputs(self) -> list[Segment]:
        """The part of the text that is read with random weights."""
        return self.run.sample(CONTROL_INPUTS)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text, and that of a part of it with random weights."""
        run, seed = self.run, self.run.options.seed
        yield Scan(RunText(run), [RowSampleAccumulator(run.layout, seed=seed)], label="explanation")
        if run.options.controls:
            inputs = DrawnInputs(run, lambda: self.control_inputs, control=0)
            rows = RowSampleAccumulator(run.layout, seed=seed, most=CONTROL_ROWS)
            yield Scan(inputs, [rows], _CONTROL, label="explanation: control")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables."""
        from threadpoolctl import threadpool_limits

        rows = sums.of(RowSampleAccumulator)
        # A head has few rows, for which threads cost more than they save.
        with threadpool_limits(1):
            tables = self._explained(rows, TRAINED, MEASURES)
            if _CONTROL in sums:
                control = self._explained(sums.of(RowSampleAccumulator, _CONTROL), CONTROL, (WEIGHT,))
                for table, more in zip(tables, control, strict=True):
                    table += more
        explanations = tables[0]
        documents = max((row["n_documents"] for row in explanations), default=0)
        return StageResult(
            name="explanation",
            tables=explanation_tables(*tables),
            notes=notes_on("explanation", too_few(documents)),
            state=rows.state(),
        )

    def _explained(
        self, sample: RowSampleAccumulator, model: str, measures: tuple[str, ...]
    ) -> tuple[Rows, Rows, Rows]:
        """Return the rows of the tables.

        Args:
            sample: the rows.
            model: whose they are.
            measures: that are explained.
        """
        names, tokenizer = self.run.encoder.vocabulary, self.run.loaded.tokenizer
        special = Special(cls=names.cls_name, sep=names.sep_name or "the end")
        explanations: Rows = []
        groups: Rows = []
        examples: Rows = []
        for part in self.run.layout:
            samples = sample.compute()[part.kind]
            if not samples:
                continue
            design = sample_design(
                samples, list(FEATURES.values()), self._contexts(samples), seed=self.run.options.seed
            )
            for layer, by_measure in enumerate(explain(design, range(part.layers), measures)):
                of_layer = {"kind": part.kind, "layer": layer + 1}
                for measure, heads in by_measure.items():
                    both = head_rows(
                        {**of_layer, "measure": measure, "model": model},
                        heads,
                        columns=design.columns,
                        texts=self._vocabulary.texts,
                        special=special,
                    )
                    explanations += both[0]
                    groups += both[1]
                    if measure == WEIGHT and model == TRAINED:
                        examples += example_records(of_layer, heads, sample=design, tokenizer=tokenizer)
        return explanations, groups, examples

    @cached_property
    def _vocabulary(self) -> VocabularyFacts:
        return VocabularyFacts.of_tokenizer(self.run.loaded.tokenizer)

    def _contexts(self, samples: list[SampledRows]) -> ContextOf:
        """Return what makes the context of features, with the frequencies of tokens in the sampled inputs."""
        counts = np.bincount(np.concatenate([sample.segment.keys.ids for sample in samples]))
        vocabulary = self._vocabulary.with_counts(counts)

        def context_of(sample: SampledRows, visible: NDArray[np.bool_]) -> RowContext:
            segment = sample.segment
            words = int(segment.keys.word_ids.max(initial=-1)) + 1
            origin = f"segment {sample.index + 1} of document {sample.document}"
            return RowContext(
                rows=sample.rows,
                visible=visible,
                queries=segment.queries,
                keys=segment.keys,
                vocabulary=vocabulary,
                annotation=annotation_of(segment.fields, words, origin=origin),
            )

        return context_of
