"""The stage of section 3.2: how much the loss depends on attention to each class of key."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from headscope.analyses.importance.sums import GATE, KEY_CLASSES, MEASURES, ImportanceAccumulator, ImportanceResult
from headscope.analyses.importance.tables import IMPORTANCE, IMPORTANCE_DIFFERENCES
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.loss_source import LossCounts
from headscope.encoding.loss_questions import GivenLabels
from headscope.encoding.segment import Segment
from headscope.errors import OptionError
from headscope.scans.prepare.input_sizes import gradient_batch_size
from headscope.scans.prepare.loss_model import ask_of_run, loss_model, loss_of
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums, TextOfRun
from headscope.statistics.inference.confidence import mapped, too_few
from headscope.statistics.tables.frames import head_table, interval_arrays

Labels = Callable[[Segment], Sequence[int]]


class LossText(TextOfRun):
    """The text of a run, read by the model with a head for the loss; the model is loaded when the text is read.

    Args:
        run: run with the text.
        labels: as in `ImportanceMeasurement`.

    Attributes:
        loss: name of the loss; `counts` are its counts; both are known once the source is opened.
    """

    run: ModelRun

    def __init__(self, run: ModelRun, labels: Labels | None) -> None:
        self.run, self.labels = run, labels
        self.loss, self.counts = "", LossCounts()

    def source(self) -> GradientSource:
        """Return the stream of tiles, with the gradient of the loss with respect to each weight."""
        run, options = self.run, self.run.options
        if self.labels is not None and not run.anatomy.encoder_decoder:
            raise OptionError(
                f"labels are what the decoder behind an encoder writes, and {run.loaded.name} has none; leave them out"
            )
        model = loss_model(run)
        self.loss, loaded, anatomy = model.loss, model.loaded, model.anatomy
        ask = ask_of_run(run, model) if self.labels is None else GivenLabels(self.labels, start=anatomy.shift_start)
        size = options.batch_size or gradient_batch_size(options.max_length, anatomy, loaded)
        source = GradientSource(loaded.model, anatomy, run.encoder.vocabulary, run.batches(size), ask)
        self.counts = source.counts
        return source


class ImportanceMeasurement(Measurement[ModelRun]):
    """The gradient of the model's loss with respect to its attention, over the run's text.

    The scan raises `ModelError` if the checkpoint has no trained head for the loss, or the model's attention has no
    gradient; `OptionError` for a loss for another kind of model, or labels for a model without a decoder of its own.

    Args:
        run: a `ModelRun`; its option `loss` is the name of the loss, and `none` selects it by the kind of model.
        labels: for an encoder-decoder, function that returns the token ids of the decoder's target for a segment
            (closing token included), in place of span denoising; an entry's own fields are in `segment.fields`.
        **more: as in `Measurement`.
    """

    def __init__(self, run: ModelRun, *, labels: Labels | None = None, **more: Any) -> None:
        super().__init__(run, **more)
        self.text = LossText(run, labels)

    def check(self) -> None:
        """Raise an error for a loss for another kind of model."""
        loss_of(self.run)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text."""
        yield Scan(self.text, [ImportanceAccumulator()], label="importance")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables.

        Raises:
            InputError: there was nothing to predict.
        """
        counts, gradients = self.text.counts, sums.of(ImportanceAccumulator)
        counts.check()
        loss = "labels" if self.text.labels is not None else self.text.loss
        results = gradients.compute()
        return StageResult(
            name="importance",
            tables={"importance": importance_table(results), "importance_differences": importance_differences(results)},
            facts={"importance": {**counts.facts(loss), "nothing_to_predict": counts.nothing}},
            notes=notes_on("importance", counts.left_out, too_few(len(gradients.sums))),
            state=gradients.state(),
        )


def importance_table(results: Sequence[ImportanceResult]) -> pd.DataFrame:
    """Return importance as `importance.parquet`: a row for each head, measure and class of key.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. `gradient` is in nats per unit of
    weight, `weight_times_gradient` and `gate` in nats. A class that cannot occur is NaN with `n_inputs` = 0; bounds are
    NaN with fewer than 10 documents.
    """
    tables = []
    for result in results:
        of_class = {**interval_arrays(result.values), "n_inputs": result.n[:, None, None]}
        axes = {"measure": MEASURES, "key_class": KEY_CLASSES}
        of_gate = {**interval_arrays(result.gate), "n_inputs": result.n_segments[:, None]}
        tables += [
            head_table(of_class, axes, mean_last=True, kind=result.kind),
            head_table(of_gate, {}, mean_last=True, kind=result.kind, measure=GATE, key_class=None),
        ]
    return pd.concat(tables, ignore_index=True)[IMPORTANCE.names]


def importance_differences(results: Sequence[ImportanceResult]) -> pd.DataFrame:
    """Return `importance_differences.parquet`: each class of key minus `other`, over the same documents.

    Rows are those of `importance_table` for the mean over a layer's heads (a missing head), in the measure's unit.
    `n_inputs` counts segments with a key of the class; the difference is NaN if either class cannot occur, bounds are
    NaN if fewer than 10 documents have both.
    """
    axes = {"measure": MEASURES, "key_class": KEY_CLASSES[:-1]}
    tables = []
    for result in results:
        # The only head is the layer's mean.
        columns = {
            **interval_arrays(mapped(result.differences, lambda ends: ends[:, None]), "difference"),
            "n_inputs": result.n[:, None, None, :-1],
        }
        tables.append(head_table(columns, axes, mean_last=True, kind=result.kind))
    return pd.concat(tables, ignore_index=True)[IMPORTANCE_DIFFERENCES.names]
