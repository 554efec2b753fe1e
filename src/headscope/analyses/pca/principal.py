"""Principal directions of vectors, from the sums of the vectors and of their products."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.pca.moments import Moment

MOST = 8
"""Largest number of directions reported."""


@dataclass(frozen=True)
class Principal:
    """The principal directions of some vectors of a layer.

    Attributes:
        n: number of vectors of each head.
        mean: `[head, width]`.
        directions: unit vectors by falling variance, `[head, width, direction]`; the largest entry of each is positive.
            Their number is `MOST`, or the width of the vectors.
        shares: share of the variance along each, `[head, direction]`; NaN where the variance is zero.
        effective: `(sum l)^2 / sum l^2` of the variances l along all directions, `[head]`, from 1 to the width; NaN
            where the variance is zero.
    """

    n: int
    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    shares: NDArray[np.float64]
    effective: NDArray[np.float64]

    def coordinates(self, vectors: NDArray[np.float16], *, number: int = 2) -> NDArray[np.float64]:
        """Project vectors `[token, head, width]` on the first directions, `[token, head, number]`."""
        centered = vectors.astype(np.float64) - self.mean
        return np.asarray(np.einsum("thw,hwd->thd", centered, self.directions[..., :number]))


def principal_directions(moment: Moment) -> Principal:
    """Compute the principal directions of every head."""
    heads, width = moment.sums.shape
    mean = moment.sums / max(1, moment.n)
    covariance = np.zeros((heads, width, width))
    above = np.triu_indices(width)
    covariance[:, above[0], above[1]] = moment.products / max(1, moment.n)
    covariance[:, above[1], above[0]] = covariance[:, above[0], above[1]]
    scale = covariance.trace(axis1=1, axis2=2)
    covariance -= mean[:, :, None] * mean[:, None, :]
    values, vectors = np.linalg.eigh(covariance)
    # Equal vectors leave a rounding error of 1e-16 of their length.
    values = np.where(values > 1e-13 * scale[:, None], values, 0.0)[:, ::-1]
    vectors = vectors[:, :, ::-1][:, :, :MOST]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(1)[:, None], axis=1)
    whole = values.sum(1)
    varies = np.where(whole > 0, whole, np.nan)
    return Principal(
        n=moment.n,
        mean=mean,
        directions=vectors * np.where(largest < 0, -1.0, 1.0),
        shares=values[:, :MOST] / varies[:, None],
        effective=whole**2 / np.where(whole > 0, (values**2).sum(1), np.nan),
    )
