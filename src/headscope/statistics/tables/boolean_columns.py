"""Masks from columns of type `boolean`, whose values may be missing: a missing value is neither True nor False."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def is_true(values: "pd.Series[Any]") -> NDArray[np.bool_]:
    """Return a mask of the values that are True."""
    return values.eq(True).to_numpy(dtype=np.bool_, na_value=False)


def is_false(values: "pd.Series[Any]") -> NDArray[np.bool_]:
    """Return a mask of the values that are False."""
    return values.eq(False).to_numpy(dtype=np.bool_, na_value=False)
