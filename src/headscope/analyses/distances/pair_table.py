"""Distances between heads as a tidy table of pairs, and the table back as a matrix."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.result import DivergenceResult
from headscope.analyses.distances.tables import HEAD_DISTANCES
from headscope.statistics.confidence import ratio_interval


def pair_table(results: Sequence[DivergenceResult]) -> pd.DataFrame:
    """Lay distances out as `head_distances.parquet`: a row for each pair of heads of a kind, a before b.

    Layers and heads are 1-based; divergences are Jensen-Shannon, in nats, with 95% intervals over
    documents (NaN with fewer than 10 of them); `n` is how many rows of attention they are the mean of.

    Args:
        results: one for each kind of attention.
    """
    parts = []
    for result in results:
        a, b = np.triu_indices(len(result.divergence), k=1)
        interval = ratio_interval(
            result.group_sums[:, a, b],
            result.group_rows[:, None],
            scale="positive",
            documents=result.documents,
        )
        columns = {
            "divergence": result.divergence[a, b],
            "ci_low": interval.low,
            "ci_high": interval.high,
            "sampling_error": result.sampling_error[a, b],
            "n": np.full(len(a), result.n, dtype=np.int64),
        }
        for name, place in (("a", a), ("b", b)):
            columns[f"kind_{name}"] = np.full(len(place), result.kind, dtype=object)
            columns[f"layer_{name}"] = place // result.heads + 1
            columns[f"head_{name}"] = place % result.heads + 1
        parts.append(pd.DataFrame(columns)[HEAD_DISTANCES.names])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=HEAD_DISTANCES.names)


def matrix_of(
    pairs: pd.DataFrame, heads: Sequence[tuple[int, int]], *, kind: str, column: str = "divergence"
) -> NDArray[np.float64]:
    """Return a column of the table of pairs as a symmetric matrix with a zero diagonal, `[head, head]`.

    Args:
        pairs: `tables/head_distances.parquet`.
        heads: (layer, head), 1-based: the rows and columns, in order.
        kind: `encoder`, `decoder` or `cross`.
        column: which number; pairs that the table lacks are NaN.
    """
    place = {head: number for number, head in enumerate(heads)}
    own = pairs[(pairs["kind_a"] == kind) & (pairs["kind_b"] == kind)]
    found = np.full((len(heads), len(heads)), np.nan)
    np.fill_diagonal(found, 0.0)
    names = [
        zip(own[f"layer_{side}"].tolist(), own[f"head_{side}"].tolist(), strict=True) for side in ("a", "b")
    ]
    ends = np.array([(place.get(a, -1), place.get(b, -1)) for a, b in zip(*names, strict=True)], dtype=int)
    ends = ends.reshape(-1, 2)
    known = (ends >= 0).all(1)
    a, b = ends[known].T
    found[a, b] = found[b, a] = own[column].to_numpy(dtype=np.float64)[known]
    return found


def nearest_pairs(pairs: pd.DataFrame, *, kind: str, most: int = 10) -> pd.DataFrame:
    """Return the pairs of heads of a kind that are most alike, nearest first; ties in the order of the table."""
    own = pairs[pairs["kind_a"] == kind]
    return own.sort_values("divergence", kind="stable").head(most).reset_index(drop=True)
