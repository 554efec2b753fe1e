"""The stage of section 3.2: how much the loss depends on every head's attention to each class of key.

The gate estimate (Michel et al. 2019) is measured too: how much a loss depends on a gate that multiplies the whole
output of the head. With z = sum of a v, dL/dgate at 1 is the signed sum of a dL/da over a segment's pairs of query and
key.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.importance.tables import GATE, IMPORTANCE, IMPORTANCE_DIFFERENCES, KEY_CLASSES, MEASURES
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.host_copy import segment_means
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.loss_source import LossCounts
from headscope.attention.row_statistics import class_indicators
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.loss_questions import GivenLabels
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import OptionError
from headscope.scans.prepare.input_sizes import gradient_batch_size
from headscope.scans.prepare.loss_model import ask_of_run, loss_model, loss_of
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, difference_interval, ratio_interval, too_few
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import with_layer_means
from headscope.statistics.sums.kept import Declared, counted, summed
from headscope.statistics.tables.frames import head_table, interval_arrays

_CODES = ((KeyClass.CLS,), (KeyClass.SEP,), (KeyClass.PERIOD_COMMA,), (KeyClass.OTHER, KeyClass.OTHER_PUNCTUATION))
Labels = Callable[[Segment], Sequence[int]]


@dataclass(frozen=True)
class ImportanceResult:
    """Gradient importance of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        values: importance of every head, followed by the layer's mean, `[layer, head + 1, MEASURES, KEY_CLASSES]`, in
            nats per unit of weight, and nats.
        differences: each class minus `other` over the same documents, the mean over a layer's heads,
            `[layer, 1, MEASURES, KEY_CLASSES without other]`.
        n: number of segments with a key of the class, `[layer, KEY_CLASSES]`; 0 where it cannot occur.
        gate: |dL/dgate| of every head, followed by the layer's mean, `[layer, head + 1]`, nats.
        n_segments: number of segments, `[layer]`.
    """

    kind: str
    values: Interval
    differences: Interval
    n: NDArray[np.int64]
    gate: Interval
    n_segments: NDArray[np.int64]


def importance_sums(
    weights: Float[Tensor, "batch head row key"],
    gradient: Float[Tensor, "batch head row key"],
    pairs: Bool[Tensor, "batch row key"],
    key_classes: Int[Tensor, "batch key"],
) -> tuple[Float64[Tensor, "batch head 2 4"], Float64[Tensor, "batch head"]]:
    """Sum over pairs of query and key: |g| and |w g| by class of key, and w g, signed, over all keys.

    Args:
        weights: attention weights w.
        gradient: gradient of the loss with respect to the weights, g.
        pairs: True for pairs that are counted: both tokens real, the key visible from the query.
        key_classes: `KeyClass` of each key.

    Returns:
        `[batch, head, MEASURES, KEY_CLASSES]` and `[batch, head]`, float64.
    """
    counted = pairs[:, None]
    indicators = class_indicators(key_classes, _CODES, dtype=torch.float64)[:, None]
    signed = torch.where(counted, gradient, 0.0)  # a row of padding may contain NaN
    product = torch.where(counted, weights, 0.0).mul_(signed)
    # Sum along the rows in single precision, because in double it would cost more than everything else here.
    gate = product.sum(3, dtype=torch.promote_types(product.dtype, torch.float32)).double().sum(-1)
    weighted = product.abs_().sum(2, keepdim=True, dtype=torch.float64) @ indicators
    plain = signed.abs_().sum(2, keepdim=True, dtype=torch.float64) @ indicators
    return torch.cat([plain, weighted], dim=2), gate


def pair_counts(
    pairs: Bool[Tensor, "batch row key"], key_classes: Int[Tensor, "batch key"]
) -> Float64[Tensor, "batch 4"]:
    """Count the pairs of query and key by class of key, `[batch, KEY_CLASSES]` float64."""
    indicators = class_indicators(key_classes, _CODES, dtype=torch.float64)
    return (pairs.sum(1)[:, None].double() @ indicators)[:, 0]


class ImportanceAccumulator(Accumulator):
    """Sums the importance of attention to each class of key by group of documents.

    A value is the mean over a segment's pairs of query and key, then over the segments that have such a pair. The gate
    estimate of a segment is the absolute value of a sum over all its pairs.

    Args:
        layout: the kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "gradient"})

    def declare(self) -> Declared:
        """Declare the sums of segment means of each kind, and the numbers of segments."""
        classes = len(KEY_CLASSES)
        return {
            "importance": summed("layer", "head", len(MEASURES), classes),
            "n_with_class": counted("layer", classes),
            "gate": summed("layer", "head"),
            "n_segments": counted("layer"),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        pairs = tile.visibility.visible & tile.row_valid[:, :, None]
        sums, gate = importance_sums(tile.weights, tile.gradient, pairs, tile.keys.classes)
        numbers = pair_counts(pairs, tile.keys.classes)
        self.segment_sums.add(tile, importance=sums, pairs=numbers, gate=gate)

    def end(self, batch: Batch) -> None:
        """Turn the batch's sums into segment means and add them to their documents."""
        for kind, layers, (sums, pairs, gate) in self.segment_sums.by_kind("importance", "pairs", "gate"):
            means, some = segment_means(sums, pairs[:, :, None, None])
            self.add_segments(
                batch, kind, layers, importance=means, n_with_class=some[:, :, 0, 0], gate=np.abs(gate), n_segments=1
            )

    def compute(self) -> tuple[ImportanceResult, ...]:
        """Return each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, counts, gate, segments = (
                stacked[f"{name}.{part.kind}"] for name in ("importance", "n_with_class", "gate", "n_segments")
            )
            everything, number = with_layer_means(sums), counts[:, :, None, None, :]
            means = everything[:, :, -1:]
            results.append(
                ImportanceResult(
                    kind=part.kind,
                    values=ratio_interval(everything, number, scale="positive"),
                    # The class `other` is the last.
                    differences=difference_interval(
                        means[..., :-1], number[..., :-1], means[..., -1:], number[..., -1:]
                    ),
                    n=counts.sum(0).astype(np.int64),
                    gate=ratio_interval(with_layer_means(gate), segments[:, :, None], scale="positive"),
                    n_segments=segments.sum(0).astype(np.int64),
                )
            )
        return tuple(results)


class LossText(RunText):
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
        columns = {**interval_arrays(result.differences, "difference"), "n_inputs": result.n[:, None, None, :-1]}
        tables.append(head_table(columns, axes, mean_last=True, kind=result.kind))
    return pd.concat(tables, ignore_index=True)[IMPORTANCE_DIFFERENCES.names]
