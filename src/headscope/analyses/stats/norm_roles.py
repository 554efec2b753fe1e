"""A column of `study.heads`: the role of each head by norm-weighted attention."""

from collections.abc import Callable

import pandas as pd

from headscope.statistics.measures import NORM, of_measure
from headscope.statistics.roles import roles

_PLACE = ["kind", "layer", "head"]


def norm_roles(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the role of each head by norm-weighted attention, `role.norm`, where that is known."""
    table = read("stats")
    written = None if table is None else of_measure(table, NORM)
    if table is None or written is None or written.empty:
        return None
    known = written[written["head"].notna() & (written["n_inputs"] > 0)]
    named = roles(table, measure=NORM)
    named = named.merge(known[_PLACE].drop_duplicates().astype({"layer": "int64", "head": "int64"}), on=_PLACE)
    return named.set_index(_PLACE).rename(columns={"role": f"role.{NORM}"})
