"""Numbers as the page's scripts read them."""

import numpy as np


def numbers(values: np.ndarray) -> list[float | int | None]:
    """Return numbers for JSON: six decimals, null for NaN, whole ones without a point."""
    rounded = [None if np.isnan(value) else round(float(value), 6) for value in values]
    return [int(value) if value is not None and value == int(value) else value for value in rounded]
