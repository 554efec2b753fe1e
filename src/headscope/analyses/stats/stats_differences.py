"""Compute differences of statistics on the same documents, with intervals, for the report's findings."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.stats.accumulator import StatsAccumulator
from headscope.analyses.stats.tables import STATS_DIFFERENCES
from headscope.statistics.inference.confidence import difference_interval, ends_of
from headscope.statistics.statistic_catalog import NAMES, STATISTICS

_WITHIN_LAYER = tuple((statistic.name, statistic.less) for statistic in STATISTICS.values() if statistic.less)
_RANKED = tuple(statistic.name for statistic in STATISTICS.values() if statistic.ranked)


def stats_differences(sums: StatsAccumulator) -> pd.DataFrame:
    """Return `stats_differences.parquet`: differences of two numbers, with their intervals.

    For each layer, averaged over heads (`head` null): attention to sep from sep minus that from other tokens, and
    entropy from cls minus that from all tokens. For each kind: the share of the head with the largest share on the
    previous and on the next token, minus that of its nearest rival. The rival is the head whose difference has the
    lowest lower end: if that is above 0, the first head is above every other (rank verification, Hung and Fithian
    2019).
    """
    stacked = sums.sums.stacked()
    rows: list[dict[str, Any]] = []
    for part in sums.layout:
        table, counts = stacked[f"weight.{part.kind}"][:, :, :-1], stacked[f"n_weight.{part.kind}"]
        possible = stacked[f"weight.{part.kind}"][:, :, -1].sum(0) > 0
        for comparison in (*_within(table, counts, possible), *_ranked(table, counts, possible)):
            rows.append({"kind": part.kind, **comparison})
    frame = pd.DataFrame(rows, columns=STATS_DIFFERENCES.names)
    return frame.astype(dict.fromkeys(("head", "than_head"), "Int64"))


def _within(table: NDArray[np.float64], counts: NDArray[Any], possible: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield differences of two statistics in each layer, averaged over heads."""
    mean = table.mean(2)
    for statistic, than_statistic in _WITHIN_LAYER:
        a, b = (NAMES.index(name) for name in (statistic, than_statistic))
        gap = difference_interval(mean[..., a], counts[:, None, a], mean[..., b], counts[:, None, b])
        for layer in np.flatnonzero(possible[:, a] & possible[:, b]).tolist():
            yield {
                "layer": layer + 1,
                "statistic": statistic,
                "than_layer": layer + 1,
                "than_statistic": than_statistic,
                **ends_of(gap, layer, "difference"),
                "n_inputs": int(min(counts[:, a].sum(), counts[:, b].sum())),
            }


def _ranked(table: NDArray[np.float64], counts: NDArray[Any], possible: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield the difference between the head with the largest share and its nearest rival."""
    heads = table.shape[2]
    flat = table.reshape(len(table), -1, table.shape[3])
    for name in _RANKED:
        column = NAMES.index(name)
        number = counts[:, column]
        if not possible[:, column].any() or flat.shape[1] < 2:
            continue
        first = int(flat[:, :, column].sum(0).argmax())
        others = np.delete(np.arange(flat.shape[1]), first)
        first_sums = np.broadcast_to(flat[:, [first], column], (len(flat), len(others)))
        gap = difference_interval(first_sums, number[:, None], flat[:, others, column], number[:, None])
        ends = gap.value if np.isnan(gap.low).all() else gap.low
        nearest = int(ends.argmin())
        yield {
            "layer": first // heads + 1,
            "head": first % heads + 1,
            "statistic": name,
            "than_layer": int(others[nearest]) // heads + 1,
            "than_head": int(others[nearest]) % heads + 1,
            "than_statistic": name,
            **ends_of(gap, nearest, "difference"),
            "n_inputs": int(number.sum()),
        }
