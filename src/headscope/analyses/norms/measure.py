"""The stage: output norms of every head from one scan of the text, as a table."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.measurement import Measurement
from headscope.analyses.norms.accumulator import KEY_CLASSES, NormAccumulator, NormResult
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, NORMS, OUTPUT, VALUE
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, mapped

UNKNOWN = (
    "what heads write is not measured in {layers} of {kind} attention: no linear map takes the attention's output, "
    "nor that times a gate"
)
UNTRACED = (
    "what heads write in {layers} of {kind} attention is measured at the output projection, before the norm or "
    "whatever follows it: it is compared within the layer alone, not with other layers or with the stream"
)


class NormsMeasurement(Measurement[Stream]):
    """How much every head writes."""

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
    """Lay results out as `norms.parquet`: a row for each head and statistic, and for each layer's mean head.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads.
    """
    rows = [row for result in results for row in _rows(result)]
    return pd.DataFrame(rows, columns=NORMS.names).astype({"head": "Int64", "inactive": "boolean"})


def _rows(result: NormResult) -> Iterator[dict[str, Any]]:
    for name, interval, n in (
        (OUTPUT, result.output, result.n),
        (IN_LAYER, result.in_layer, result.n),
        (IN_STREAM, result.in_stream, result.n_stream),
    ):
        for row in _cells(result, name, None, interval, n, means=name != IN_LAYER):
            inactive = result.inactive[row["layer"] - 1, row["head"] - 1] if name == IN_LAYER else None
            yield {**row, "inactive": inactive}
    for index, key_class in enumerate(KEY_CLASSES):
        of_class = mapped(result.value, partial(_column, index=index))
        yield from _cells(result, VALUE, key_class, of_class, result.n_value[:, index], means=True)


def _column(ends: NDArray[np.float64], *, index: int) -> NDArray[np.float64]:
    return ends[..., index]


def _cells(
    result: NormResult,
    statistic: str,
    key_class: str | None,
    interval: Interval,
    n: NDArray[np.int64],
    *,
    means: bool,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one statistic; with `means` the last head is the layer's mean."""
    layers, heads = interval.value.shape
    for layer in range(layers):
        for head in range(heads):
            is_mean = means and head == heads - 1
            yield {
                "kind": result.kind,
                "layer": layer + 1,
                "head": pd.NA if is_mean else head + 1,
                "statistic": statistic,
                "key_class": key_class,
                "value": float(interval.value[layer, head]),
                "ci_low": float(interval.low[layer, head]),
                "ci_high": float(interval.high[layer, head]),
                "n_inputs": int(n[layer]),
                "inactive": None,
            }


def output_notes(results: tuple[NormResult, ...]) -> Iterator[str]:
    """Yield notes on layers whose output, or what is done to it before it is added to the stream, is not known."""
    for result in results:
        for template, layers, every in (
            (UNKNOWN, result.n == 0, "any layer"),
            (UNTRACED, result.untraced, "every layer"),
        ):
            if layers.any():
                named = ", ".join(map(str, np.flatnonzero(layers) + 1))
                yield template.format(layers=every if layers.all() else f"layers {named}", kind=result.kind)
