"""The stage of output norms: how much every head writes, and the value norms by class of key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, INACTIVE_BELOW, KEY_CLASSES, NORMS, OUTPUT, VALUE
from headscope.attention.host_copy import segment_means
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import KeyClass
from headscope.scans.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.inference.significance import passing
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import with_layer_means
from headscope.statistics.sums.kept import Declared, counted, summed
from headscope.statistics.tables.frames import head_table, interval_arrays

_OF_ROWS = ("output", "in_stream")


@dataclass(frozen=True)
class NormResult:
    """The output norms of the heads of one kind of attention; NaN in layers with an unknown output projection.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        values: values by statistic, `[layer, head]`; all but `IN_LAYER` are followed by the layer's mean. `OUTPUT` is
            the mean over rows of `|sum_j a_ij f_ij|`; `IN_LAYER` is the same divided by the layer's mean over heads;
            `IN_STREAM` is the mean over rows of the output norm divided by the norm of the layer's input at that row;
            `VALUE` is the mean of `|f_ij|` by class of key, each key once, with its mean over the rows that see it,
            `[layer, head, KEY_CLASSES]`.
        n: number of segments by statistic, `[layer]`, or of those with such a key, `[layer, KEY_CLASSES]`.
        inactive: True if `IN_LAYER` is below `INACTIVE_BELOW`, corrected over the heads, `[layer, head]`; None where
            it was not tested.
    """

    kind: str
    values: Mapping[str, Interval]
    n: Mapping[str, NDArray[np.int64]]
    inactive: NDArray[np.object_]


class NormAccumulator(Accumulator):
    """Sums every head's output norms by group of documents.

    Args:
        layout: the kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"written"})

    def declare(self) -> Declared:
        """Declare sums of segment means, and the number of segments in each."""
        of_rows = {name: summed("layer", "head") for name in _OF_ROWS}
        n_of_rows = {f"n_{name}": counted("layer") for name in _OF_ROWS}
        value = {"value": summed("layer", "head", len(KeyClass)), "n_value": counted("layer", len(KeyClass))}
        return {**of_rows, **n_of_rows, **value}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        super().begin(batch)
        self._keys: dict[str, SegmentInfo] = {}

    def update(self, tile: AttentionTile) -> None:
        """Add the norms of a tile's outputs, by row, and of its values, by key."""
        written = tile.written
        if written is None:
            return
        valid, lengths = tile.row_valid[:, None], tile.queries.lengths[:, None].double()
        outputs = torch.where(valid, written.outputs.double(), 0.0)
        self.segment_sums.add(tile, output=outputs.sum(-1) / lengths)
        if written.stream is not None:
            relative = outputs / torch.where(tile.row_valid, written.stream.double(), 1.0)[:, None]
            self.segment_sums.add(tile, in_stream=relative.sum(-1) / lengths)
        visible = tile.visibility.visible & tile.row_valid[..., None] & tile.keys.valid[:, None]
        self.segment_sums.add(tile, by_key=written.over_rows(visible), n_by_key=visible.sum(1))
        self._keys[tile.kind] = tile.keys.on_host

    def end(self, batch: Batch) -> None:
        """Add the batch's segment means to their documents."""
        for name in _OF_ROWS:
            for kind, layers, (means,) in self.segment_sums.by_kind(name):
                self.add_segments(batch, kind, layers, **{name: means, f"n_{name}": 1})
        for kind, layers, (sums, rows) in self.segment_sums.by_kind("by_key", "n_by_key"):
            value, some = _by_class(sums, rows, self._keys[kind].classes.numpy())
            self.add_segments(batch, kind, layers, value=value, n_value=some)

    def compute(self) -> tuple[NormResult, ...]:
        """Return each kind's values with their intervals over documents."""
        # Without any known output projection no document was added; a single empty document is used instead.
        stacked = {
            name: sums if len(sums) else np.zeros((1, *sums.shape[1:])) for name, sums in self.sums.stacked().items()
        }
        return tuple(_result(part.kind, stacked) for part in self.layout)


def _by_class(
    sums: NDArray[np.float64], rows: NDArray[np.int64], classes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Average over the keys of each class, after each key has been averaged over the rows that see it.

    Args:
        sums: over rows, `[batch, layer, head, key]`.
        rows: number of rows that see each key, `[batch, layer, key]`.
        classes: `KeyClass` of each key, `[batch, key]`.

    Returns:
        The means `[batch, layer, head, KeyClass]`, and True where they exist, `[batch, layer, KeyClass]`.
    """
    of_class = np.eye(len(KeyClass))[classes][:, None] * (rows > 0)[..., None]
    key_means, _ = segment_means(sums, rows[:, :, None])
    means, some = segment_means(key_means @ of_class, of_class.sum(2)[:, :, None])
    return means, some[:, :, 0]


def _result(kind: str, stacked: Mapping[str, NDArray[np.float64]]) -> NormResult:
    """Compute the means of one kind of attention from sums `[group, layer, ...]`."""
    output, stream, value = (stacked[f"{name}.{kind}"] for name in (*_OF_ROWS, "value"))
    counts = [stacked[f"n_{name}.{kind}"] for name in (*_OF_ROWS, "value")]
    n_output, n_stream, n_value = (count.sum(0).astype(np.int64) for count in counts)
    mean = output.mean(2, keepdims=True)

    def in_layer(confidence: float = 0.95) -> Interval:
        return ratio_interval(output, mean, scale="positive", confidence=confidence)

    of_output, in_stream, of_value = (
        ratio_interval(with_layer_means(sums), count[:, :, None], scale="positive")
        for sums, count in zip((output, stream, value), counts, strict=True)
    )
    return NormResult(
        kind=kind,
        values={OUTPUT: of_output, IN_LAYER: in_layer(), IN_STREAM: in_stream, VALUE: of_value},
        n={OUTPUT: n_output, IN_LAYER: n_output, IN_STREAM: n_stream, VALUE: n_value},
        inactive=passing(in_layer, lambda interval: interval.high < INACTIVE_BELOW),
    )


UNKNOWN = (
    "output norms are not measured in {layers} of {kind} attention: no linear map takes the attention's output, "
    "nor that times a gate"
)
UNTRACED = (
    "output norms in {layers} of {kind} attention are measured at the output projection, before the norm or "
    "other function that follows it: compare them within a layer only, not between layers or with the stream"
)


class NormsMeasurement(Measurement[Stream]):
    """The output norm of every head."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text."""
        yield Scan(RunText(self.run), [NormAccumulator(self.run.layout)], label="output norms")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the table."""
        norms = sums.of(NormAccumulator)
        results = norms.compute()
        return StageResult(
            name="norms",
            tables={"norms": norm_table(results)},
            notes=notes_on("norms", *output_notes(results)),
            state=norms.state(),
        )


def norm_table(results: tuple[NormResult, ...]) -> pd.DataFrame:
    """Return results as `norms.parquet`: a row for each head and statistic, and for each layer's mean head.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads.
    """
    tables = []
    for result in results:
        for statistic, interval in result.values.items():
            by_class = {"key_class": KEY_CLASSES} if statistic == VALUE else {}
            inactive = result.inactive if statistic == IN_LAYER else None
            columns = {**interval_arrays(interval), "n_inputs": result.n[statistic][:, None], "inactive": inactive}
            mean_last = statistic != IN_LAYER
            table = head_table(columns, by_class, mean_last=mean_last, kind=result.kind, statistic=statistic)
            if by_class:
                table = table.sort_values("key_class", key=lambda names: names.map(KEY_CLASSES.index), kind="stable")
            tables.append(table)
    return pd.concat(tables, ignore_index=True)[NORMS.names].astype({"inactive": "boolean"})


def output_notes(results: tuple[NormResult, ...]) -> Iterator[str]:
    """Yield notes on layers with an unknown output, or an unknown transformation of it before it enters the stream."""
    for result in results:
        known = result.n[OUTPUT] > 0
        untraced = known & (result.n[IN_STREAM] == 0)
        for template, layers, every in ((UNKNOWN, ~known, "any layer"), (UNTRACED, untraced, "every layer")):
            if layers.any():
                named = ", ".join(map(str, np.flatnonzero(layers) + 1))
                yield template.format(layers=every if layers.all() else f"layers {named}", kind=result.kind)
