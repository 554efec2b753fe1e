"""Distances between heads as a tidy table of pairs, and the table as a matrix, also in a numpy file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.sums import DivergenceResult
from headscope.analyses.distances.tables import HEAD_DISTANCES
from headscope.analyses.measurement import StageResult
from headscope.errors import OptionError
from headscope.statistics.inference.confidence import ratio_interval
from headscope.storage.files import check_file_place
from headscope.storage.lock import placed


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
        for side, index in (("a", a), ("b", b)):
            columns[f"kind_{side}"] = np.full(len(index), result.kind, dtype=object)
            columns[f"layer_{side}"], columns[f"head_{side}"] = (1 + each for each in divmod(index, result.heads))
        tables.append(pd.DataFrame(columns)[HEAD_DISTANCES.names])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=HEAD_DISTANCES.names)


def heads_of_pair(row: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the (layer, head) of the two heads of a row of the table of pairs."""
    return [(int(row[f"layer_{side}"]), int(row[f"head_{side}"])) for side in "ab"]


def nearest_pairs(pairs: pd.DataFrame, *, kind: str, most: int = 10) -> pd.DataFrame:
    """Return the nearest pairs of heads of a kind, nearest first; ties keep the order of the table."""
    pairs_of_kind = pairs[pairs["kind_a"] == kind]
    return pairs_of_kind.sort_values("divergence", kind="stable").head(most).reset_index(drop=True)


def matrix_of(pairs: pd.DataFrame, heads: Sequence[Sequence[int]] | NDArray[Any], *, kind: str) -> NDArray[np.float64]:
    """Return the divergences as a symmetric matrix with a zero diagonal, `[head, head]`; unknown pairs are NaN.

    Args:
        pairs: `tables/head_distances.parquet`.
        heads: (layer, head), 1-based: the rows and columns, in order.
        kind: `encoder`, `decoder` or `cross`.
    """
    pairs_of_kind = pairs[(pairs["kind_a"] == kind) & (pairs["kind_b"] == kind)]
    matrix = np.full((len(heads), len(heads)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    index = pd.MultiIndex.from_arrays([*np.array(heads, dtype=np.int64).reshape(-1, 2).T])
    sides = (pairs_of_kind[[f"layer_{side}", f"head_{side}"]] for side in ("a", "b"))
    a, b = (index.get_indexer(pd.MultiIndex.from_frame(side)) for side in sides)
    known = (a >= 0) & (b >= 0)
    a, b = a[known], b[known]
    matrix[a, b] = matrix[b, a] = pairs_of_kind["divergence"].to_numpy(dtype=np.float64)[known]
    return matrix


def check_matrix(path: Path) -> None:
    """Check the path of the array before the scan.

    Raises:
        OptionError: the path does not end in .npy, is a folder, or lies in a folder that does not exist.
    """
    if path.suffix != ".npy":
        raise OptionError(f"--matrix {path} does not end in .npy; expected a file for a numpy array")
    check_file_place("--matrix", path)


def write_matrix(results: Mapping[str, StageResult], path: Path) -> list[str]:
    """Write the divergences of each kind as a `.npy` array, `[head, head]`; return the lines to print.

    A model with one kind of attention has the single file `path`; with several, one `NAME-KIND.npy` in the same folder.
    """
    pairs, head_table = results["distances"].tables["head_distances"], results["map"].tables["head_map"]
    kinds = list(dict.fromkeys(head_table["kind"]))
    lines = []
    for kind in kinds:
        heads = head_table[head_table["kind"] == kind].sort_values(["layer", "head"])
        target = path if len(kinds) == 1 else path.with_name(f"{path.stem}-{kind}.npy")
        # numpy would add .npy to a name, but not to an open file.
        with placed(target, replace=True) as temporary, temporary.open("wb") as file:
            np.save(file, matrix_of(pairs, heads[["layer", "head"]].to_numpy(), kind=kind))
        lines.append(f"matrix: {target} ({len(heads)} x {len(heads)})")
    return lines
