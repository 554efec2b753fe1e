"""The tables of distances between heads and of the map, and the distances as a matrix, also in a numpy file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.sums import DivergenceResult
from headscope.analyses.measurement import StageResult
from headscope.errors import OptionError
from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.roles import ROLES
from headscope.statistics.tables.columns import (
    FEW,
    FROM_ONE,
    KIND,
    NOT_NEGATIVE,
    PLACE,
    SHARE,
    count,
    difference,
    ends,
    number,
    share,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema
from headscope.storage.files import check_file_place
from headscope.storage.lock import placed

_ROWS = "rows of attention"
_NATS = "nats"
_JS = (0.0, log(2))
_ONE = "no such pair exists"
_SINGLE = "one cluster, or a cluster of one head"


def _with_percentiles(column: Column, *, prefix: str) -> Iterator[Column]:
    """Yield a column and its 2.5 and 97.5 percentiles over the resamples."""
    yield column
    for end, percent in (("low", "2.5"), ("high", "97.5")):
        meaning = f"{percent} percentile of that over the resamples"
        yield replace(column, name=f"{prefix}_{end}", meaning=meaning)


HEAD_DISTANCES = TableSchema(
    name="head_distances",
    meaning="The Jensen-Shannon divergence of each pair of heads of a kind.",
    columns=(
        *(
            replace(column, name=f"{column.name}_{side}", meaning=f"{column.meaning}: {which} head")
            for side, which in (("a", "first"), ("b", "second"))
            for column in PLACE
        ),
        Column("divergence", "mean over all rows of all inputs", unit=_NATS, bounds=_JS),
        *ends("divergence", unit=_NATS, bounds=NOT_NEGATIVE),
        Column("sampling_error", "its standard error for a sample of rows; 0 for all", unit=_NATS, bounds=NOT_NEGATIVE),
        count("n_rows", _ROWS),
    ),
    key=("kind_a", "layer_a", "head_a", "kind_b", "layer_b", "head_b"),
)

HEAD_MAP = TableSchema(
    name="head_map",
    meaning="Each head's position on the map of distances, its cluster, its role and the relation that it finds.",
    columns=(
        *PLACE,
        number("x", "place across", unit=_NATS),
        number("y", "place upwards", unit=_NATS),
        Column("cluster", "number of its cluster", "int64", bounds=FROM_ONE),
        text("role", "its role", missing="statistics were not measured", choices=tuple(ROLES)),
        text(
            "finds",
            "relations, and `coreference`, with commas between them",
            missing="neither relations nor coreference were measured",
        ),
    ),
    key=("kind", "layer", "head"),
)

HEAD_CLUSTERS = TableSchema(
    name="head_clusters",
    meaning="Clusters of heads that attend alike: average linkage on the root of the divergence.",
    columns=(
        KIND,
        Column("cluster", "its number", "int64", bounds=FROM_ONE),
        count("size", "heads", meaning="how many it has"),
        *_with_percentiles(
            share(
                "stability",
                "mean Jaccard index with its likest cluster over resampled documents",
                missing=f"{FEW}, {_SINGLE}",
            ),
            prefix="ci",
        ),
        Column("silhouette", "mean silhouette of its heads", missing=_SINGLE, bounds=(-1.0, 1.0)),
        Column("medoid_layer", "layer of the head in its middle", "int64", bounds=FROM_ONE),
        Column("medoid_head", "head in its middle", "int64", bounds=FROM_ONE),
        Column("divergence", "mean within it", unit=_NATS, missing="it has one head", bounds=_JS),
        count("n_rows", _ROWS),
    ),
    key=("kind", "cluster"),
)

LAYER_EFFECT = TableSchema(
    name="layer_effect",
    meaning="Whether heads of a layer are more alike than heads of different layers, and how good the map and the "
    "clusters are.",
    columns=(
        KIND,
        Column("within", "mean divergence of heads of one layer", unit=_NATS, missing=_ONE, bounds=_JS),
        Column("between", "mean divergence of heads of two layers", unit=_NATS, missing=_ONE, bounds=_JS),
        *difference("`between` minus `within`", name="effect", unit=_NATS, missing=_ONE),
        Column("p", "of heads dealt to the layers at random", missing=_ONE, bounds=SHARE),
        count("n_rows", _ROWS),
        Column("stress", "Kruskal's stress of the map; 0 is exact", bounds=NOT_NEGATIVE),
        count("clusters", "clusters", meaning="how many there are"),
        Column("silhouette", "mean silhouette of the clusters", missing="one cluster", bounds=(-1.0, 1.0)),
        *_with_percentiles(
            Column(
                "adjusted_rand",
                "mean adjusted Rand index with clusters of resampled documents",
                missing=f"{FEW}, or one cluster",
                bounds=(-1.0, 1.0),
            ),
            prefix="adjusted_rand",
        ),
        text("reason", "reason for a missing effect", missing="there is one"),
    ),
    key=("kind",),
)

DISTANCE_TABLES = (HEAD_DISTANCES,)
MAP_TABLES = (HEAD_MAP, HEAD_CLUSTERS, LAYER_EFFECT)


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
