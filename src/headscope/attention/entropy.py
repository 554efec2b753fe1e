"""The entropy of a row of attention, -sum w ln w in nats with 0 ln 0 = 0 (Clark et al. 2019, section 3.3).

All ways of computing it are here: from weights, from a softmax that is never normalized, and for uniform attention.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def entropy(weights: Tensor) -> Tensor:
    """Return the entropy of rows of weights, `[..., key]` to `[...]`.

    >>> entropy(torch.tensor([0.5, 0.5]))
    tensor(0.6931)
    """
    return entropy_of_key(weights).sum(-1)


def entropy_of_key(weights: Tensor) -> Tensor:
    """Return the contribution of each key to the entropy of its row, -w ln w."""
    terms: Tensor = torch.special.entr(weights)
    return terms


def entropy_by_key(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the contribution of each key to the entropy of its row, -w ln w, for a numpy array."""
    return np.asarray(-weights * np.log(np.where(weights > 0, weights, 1.0)))


def finish_entropy(weighted: Tensor, log_total: Tensor) -> None:
    """Turn sums over unnormalized weights into entropies, in place.

    For weights w = e / z, with z the sum of all e in the row, the entropy is ln z - (sum e ln e) / z.

    Args:
        weighted: (sum e ln e) / z of each row; the entropy afterwards.
        log_total: ln z of each row.
    """
    torch.sub(log_total, weighted, out=weighted)


def uniform_entropy(keys: Tensor) -> Tensor:
    """Return the entropy of uniform attention over `keys` keys, ln n."""
    return torch.log(keys)
