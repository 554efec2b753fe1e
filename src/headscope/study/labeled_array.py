"""Labeled arrays: a statistic of a tidy table, with helpful errors for unknown labels."""

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import did_you_mean
from headscope.statistics.statistic import Unit
from headscope.statistics.statistic_catalog import STATISTICS

_MOST_NAMED = 8


class LabeledArray(xr.DataArray):  # type: ignore[no-untyped-call]
    """An `xarray.DataArray` whose `sel` lists the existing labels if a label does not exist."""

    __slots__ = ()

    def sel(self, indexers: Mapping[Any, Any] | None = None, *args: Any, **named: Any) -> Self:
        """Select by labels, as `xarray.DataArray.sel` does.

        Raises:
            KeyError: the dimension or label does not exist; the message lists those that do.
        """
        for dimension, labels in {**(indexers or {}), **named}.items():
            if dimension not in ("method", "tolerance", "drop"):
                self._check(dimension, labels)
        return super().sel(indexers, *args, **named)

    def _check(self, dimension: Hashable, labels: Any) -> None:
        if dimension not in self.dims:
            names = [str(name) for name in self.dims]
            meant = did_you_mean(str(dimension), names)
            raise KeyError(f"no dimension {dimension!r}; expected one of {', '.join(names)}{meant}")
        if isinstance(labels, slice) or dimension not in self.coords:
            return
        known = self.coords[dimension].values.tolist()
        for label in np.asarray(labels, dtype=object).reshape(-1):
            if label not in known:
                raise KeyError(f"no {dimension} {label!r}; {_labels(known, label)}")


def _labels(known: list[Any], label: Any) -> str:
    """Return a phrase that lists the existing labels, and suggests the one that was meant."""
    if all(isinstance(each, int) for each in known):
        whole = known == list(range(known[0], known[-1] + 1)) and len(known) > 1
        numbers = f"{known[0]} to {known[-1]}" if whole else ", ".join(map(str, known))
        return f"expected {'a number from ' if whole else ''}{numbers}"
    names = list(dict.fromkeys(map(str, known)))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"expected one of {', '.join(names[:_MOST_NAMED])}{more}{did_you_mean(str(label), names)}"


def labeled_array(table: pd.DataFrame, statistic: str, *, kind: str) -> LabeledArray:
    """Return one statistic as an array over `layer` and `head` (1-based), its interval as coordinates.

    Raises:
        KeyError: the table has no such statistic or kind; the message lists those it has.
    """
    if statistic not in set(table["statistic"]):
        raise KeyError(f"no statistic {statistic!r}; this study has {', '.join(table['statistic'].unique())}")
    rows = table[(table["statistic"] == statistic) & (table["kind"] == kind) & table["head"].notna()]
    if rows.empty:
        raise KeyError(f"no {kind} attention; this study has {', '.join(table['kind'].unique())}")
    unit = STATISTICS[statistic].unit if statistic in STATISTICS else Unit.SHARE
    grids = {name: rows.pivot(index="layer", columns="head", values=name) for name in ("value", "ci_low", "ci_high")}
    layers = grids["value"].index.to_numpy(dtype=int)
    heads = grids["value"].columns.to_numpy(dtype=int)
    uniform = rows.drop_duplicates("layer").set_index("layer")["uniform"].reindex(layers).to_numpy()
    return LabeledArray(
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
        attrs={"units": unit.value, "n_inputs": int(rows["n_inputs"].max()), "kind": kind},
    )
