"""Distances between heads as a tidy table of pairs, and the conversion of the table to a matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.result import DivergenceResult
from headscope.analyses.distances.tables import HEAD_DISTANCES
from headscope.statistics.inference.confidence import ratio_interval


def pair_table(results: Sequence[DivergenceResult]) -> pd.DataFrame:
    """Return distances as `head_distances.parquet`: a row for each pair of heads of a kind, a before b.

    Layers and heads are 1-based; divergences are Jensen-Shannon, in nats, with 95% intervals over
    documents (NaN with fewer than 10 of them); `n_rows` is the number of rows of attention in the mean.

    Args:
        results: one for each kind of attention.
    """
    tables = []
    for result in results:
        a, b = np.triu_indices(len(result.divergence), k=1)
        interval = ratio_interval(
            result.group_sums[:, a, b], result.group_rows[:, None], scale="positive", documents=result.documents
        )
        columns = {
            "divergence": result.divergence[a, b],
            "ci_low": interval.low,
            "ci_high": interval.high,
            "sampling_error": result.sampling_error[a, b],
            "n_rows": np.full(len(a), result.n, dtype=np.int64),
        }
        for name, head_index in (("a", a), ("b", b)):
            columns[f"kind_{name}"] = np.full(len(head_index), result.kind, dtype=object)
            columns[f"layer_{name}"] = head_index // result.heads + 1
            columns[f"head_{name}"] = head_index % result.heads + 1
        tables.append(pd.DataFrame(columns)[HEAD_DISTANCES.names])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=HEAD_DISTANCES.names)


def matrix_of(
    pairs: pd.DataFrame, heads: Sequence[tuple[int, int]] | NDArray[Any], *, kind: str, column: str = "divergence"
) -> NDArray[np.float64]:
    """Return a column of the table of pairs as a symmetric matrix with a zero diagonal, `[head, head]`.

    Args:
        pairs: `tables/head_distances.parquet`.
        heads: (layer, head), 1-based: the rows and columns, in order.
        kind: `encoder`, `decoder` or `cross`.
        column: name of the column; pairs that are not in the table are NaN.
    """
    pairs_of_kind = pairs[(pairs["kind_a"] == kind) & (pairs["kind_b"] == kind)]
    matrix = np.full((len(heads), len(heads)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    index = pd.MultiIndex.from_arrays([*np.array(heads, dtype=np.int64).reshape(-1, 2).T])
    sides = (pairs_of_kind[[f"layer_{side}", f"head_{side}"]] for side in ("a", "b"))
    a, b = (index.get_indexer(pd.MultiIndex.from_frame(side)) for side in sides)
    known = (a >= 0) & (b >= 0)
    a, b = a[known], b[known]
    matrix[a, b] = matrix[b, a] = pairs_of_kind[column].to_numpy(dtype=np.float64)[known]
    return matrix


def nearest_pairs(pairs: pd.DataFrame, *, kind: str, most: int = 10) -> pd.DataFrame:
    """Return the nearest pairs of heads of a kind, nearest first; ties keep the order of the table."""
    pairs_of_kind = pairs[pairs["kind_a"] == kind]
    return pairs_of_kind.sort_values("divergence", kind="stable").head(most).reset_index(drop=True)
