"""A statistic of a tidy table as a labeled array."""

import pandas as pd
import xarray as xr

from headscope.statistics.statistic import Unit
from headscope.statistics.statistic_catalog import STATISTICS


def labeled_array(table: pd.DataFrame, statistic: str, *, kind: str) -> xr.DataArray:
    """Return one statistic as an array over `layer` and `head` (1-based), its interval as coordinates.

    Raises:
        KeyError: the table has no such statistic or kind; names those it has.
    """
    if statistic not in set(table["statistic"]):
        raise KeyError(f"no statistic {statistic!r}; this study has {', '.join(table['statistic'].unique())}")
    rows = table[(table["statistic"] == statistic) & (table["kind"] == kind) & table["head"].notna()]
    if rows.empty:
        raise KeyError(f"no {kind} attention; this study has {', '.join(table['kind'].unique())}")
    unit = STATISTICS[statistic].unit if statistic in STATISTICS else Unit.SHARE
    grids = {
        name: rows.pivot(index="layer", columns="head", values=name)
        for name in ("value", "ci_low", "ci_high")
    }
    layers = grids["value"].index.to_numpy(dtype=int)
    heads = grids["value"].columns.to_numpy(dtype=int)
    uniform = rows.drop_duplicates("layer").set_index("layer")["uniform"].reindex(layers).to_numpy()
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
            "n_inputs": int(rows["n_inputs"].max()),
            "kind": kind,
        },
    )
