"""The stage of output norms: a scan of the text, and its table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.analyses.norms.sums import KEY_CLASSES, NormAccumulator, NormResult
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, NORMS, OUTPUT, VALUE
from headscope.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import Interval
from headscope.statistics.tables.frames import head_table, interval_arrays

UNKNOWN = (
    "what heads write is not measured in {layers} of {kind} attention: no linear map takes the attention's output, "
    "nor that times a gate"
)
UNTRACED = (
    "what heads write in {layers} of {kind} attention is measured at the output projection, before the norm or "
    "whatever follows it: it is compared within the layer alone, not with other layers or with the stream"
)


class NormsMeasurement(Measurement[Stream]):
    """The output norm of every head."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text."""
        yield Scan(RunText(self.run), [NormAccumulator(self.run.layout)], label="what heads write")

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
    tables = [table for result in results for table in _tables(result)]
    return pd.concat(tables, ignore_index=True)[NORMS.names].astype({"inactive": "boolean"})


def _tables(result: NormResult) -> Iterator[pd.DataFrame]:
    def table(statistic: str, interval: Interval, n: NDArray[np.int64], **more: Any) -> pd.DataFrame:
        """Return rows of a statistic with `n` inputs, `[layer]` or `[layer, class]`; `in_layer` has no mean row."""
        by_class = {"key_class": KEY_CLASSES} if n.ndim > 1 else {}
        columns = {**interval_arrays(interval), "n_inputs": n[:, None], **more}
        mean_last = statistic != IN_LAYER
        return head_table(columns, by_class, mean_last=mean_last, kind=result.kind, statistic=statistic)

    yield table(OUTPUT, result.output, result.n)
    yield table(IN_LAYER, result.in_layer, result.n, inactive=result.inactive)
    yield table(IN_STREAM, result.in_stream, result.n_stream)
    values = table(VALUE, result.value, result.n_value)
    yield values.sort_values("key_class", key=lambda names: names.map(KEY_CLASSES.index), kind="stable")


def output_notes(results: tuple[NormResult, ...]) -> Iterator[str]:
    """Yield notes on layers with an unknown output, or an unknown transformation of it before it enters the stream."""
    for result in results:
        untraced = (result.n > 0) & (result.n_stream == 0)
        for template, layers, every in ((UNKNOWN, result.n == 0, "any layer"), (UNTRACED, untraced, "every layer")):
            if layers.any():
                named = ", ".join(map(str, np.flatnonzero(layers) + 1))
                yield template.format(layers=every if layers.all() else f"layers {named}", kind=result.kind)
