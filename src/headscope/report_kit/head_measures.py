"""A number for every head that the head grid can be colored by, beside its statistics and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.report_kit.kinds import Kind


@dataclass(frozen=True, kw_only=True)
class HeadMeasure:
    """One number a head, from 0 upwards.

    Attributes:
        name: that of its column in `study.heads`.
        label: as it is called in the list, with a capital.
        topic: what stands above it and its like in the list.
        unit: of the number, in words; empty for a share.
        share: whether it is a share, told in percent.
        values: kind -> `[head]`, layer by layer; NaN where it cannot occur.
    """

    name: str
    label: str
    topic: str
    unit: str
    values: Mapping[str, NDArray[np.float64]]
    share: bool = False


def in_head_order(rows: pd.DataFrame, kind: Kind) -> NDArray[np.float64]:
    """Lay out the column `value` of rows with `layer` and `head` (from 1) in head order; NaN where none is."""
    out = np.full(kind.size, np.nan)
    heads = rows[rows["head"].notna()]
    out[kind.head_indices(heads)] = heads["value"].to_numpy(np.float64, na_value=np.nan)
    return out
