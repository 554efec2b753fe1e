"""The mean of a layer's heads, beside them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def with_layer_means(sums: NDArray[Any]) -> NDArray[np.float64]:
    """Put the mean over a layer's heads behind them, so that one call gives the intervals of both.

    Args:
        sums: of each document (or group of documents), or counts, `[group, layer, head, ...]`.

    Returns:
        `[group, layer, head + 1, ...]`.
    """
    return np.concatenate([sums, sums.mean(2, keepdims=True)], axis=2)
