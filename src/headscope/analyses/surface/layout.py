"""Surface statistics as a tidy table, and as labelled arrays."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headscope.analyses.surface.accumulator import SurfaceResult
from headscope.analyses.surface.tables import SURFACE
from headscope.statistics.catalogue import NAMES, STATISTICS, Unit


def surface_table(results: Sequence[SurfaceResult]) -> pd.DataFrame:
    """Lay surface statistics out as `surface.parquet`: a row for each head and statistic.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. A value that cannot occur
    is NaN with `n` = 0; bounds are NaN where there are fewer than 10 documents.
    """
    parts = []
    for result in results:
        layers, heads, width = result.heads.value.shape
        # The layer's mean stands after its heads.
        stacked = [
            np.concatenate([getattr(result.heads, name), getattr(result.layers, name)[:, None]], axis=1)
            for name in ("value", "low", "high")
        ]
        grid = np.broadcast_to(np.arange(layers)[:, None, None], stacked[0].shape)
        head = np.broadcast_to(np.append(np.arange(1, heads + 1), 0)[None, :, None], stacked[0].shape)
        names = np.broadcast_to(np.array(NAMES)[None, None], stacked[0].shape)
        flat_heads = head.reshape(-1)
        numbers = pd.Series(flat_heads, dtype="Int64").mask(flat_heads == 0)
        parts.append(
            pd.DataFrame(
                {
                    "kind": result.kind,
                    "layer": grid.reshape(-1) + 1,
                    "head": numbers,
                    "statistic": names.reshape(-1),
                    "value": stacked[0].reshape(-1),
                    "ci_low": stacked[1].reshape(-1),
                    "ci_high": stacked[2].reshape(-1),
                    "uniform": np.broadcast_to(result.uniform[:, None], stacked[0].shape).reshape(-1),
                    "n": np.broadcast_to(result.n[:, None], stacked[0].shape).reshape(-1),
                }
            )
        )
        assert width == len(NAMES)
    return pd.concat(parts, ignore_index=True)[SURFACE.names]


def surface_array(table: pd.DataFrame, statistic: str, *, kind: str) -> xr.DataArray:
    """Return one statistic as an array over `layer` and `head` (1-based), its interval as coordinates.

    Raises:
        KeyError: the table has no such statistic or kind; names those it has.
    """
    if statistic not in set(table["statistic"]):
        raise KeyError(f"no statistic {statistic!r}; this study has {', '.join(table['statistic'].unique())}")
    own = table[(table["statistic"] == statistic) & (table["kind"] == kind) & table["head"].notna()]
    if own.empty:
        raise KeyError(f"no {kind} attention; this study has {', '.join(table['kind'].unique())}")
    unit = STATISTICS[statistic].unit if statistic in STATISTICS else Unit.SHARE
    grids = {
        name: own.pivot(index="layer", columns="head", values=name) for name in ("value", "ci_low", "ci_high")
    }
    layers = grids["value"].index.to_numpy(dtype=int)
    heads = grids["value"].columns.to_numpy(dtype=int)
    uniform = own.drop_duplicates("layer").set_index("layer")["uniform"].reindex(layers).to_numpy()
    return xr.DataArray(
        grids["value"].to_numpy(dtype=float),
        dims=("layer", "head"),
        coords={
            "layer": layers,
            "head": heads,
            "ci_low": (("layer", "head"), grids["ci_low"].to_numpy(dtype=float)),
            "ci_high": (("layer", "head"), grids["ci_high"].to_numpy(dtype=float)),
            "uniform": ("layer", uniform),
        },
        name=statistic,
        attrs={
            "units": unit.value,
            "n": int(own["n"].max()),
            "kind": kind,
        },
    )
