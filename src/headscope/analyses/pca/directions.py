"""Sums of vectors and of their products (a store of an accumulator), and the principal directions that follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.sums.kept import State

_AT_ONCE = 1 << 22  # numbers of float64, 32 MiB

VectorsOfLayer = tuple[str, str, int]
"""Side (`query`, `key`, `output`), kind of attention, 0-based layer."""


@dataclass(frozen=True)
class Moment:
    """The first and second moments of some vectors of a layer, as sums.

    Attributes:
        n: number of vectors of each head.
        sums: `[head, width]` float64; for keys, a head is a group of heads that share them.
        products: sums of `x_a x_b` for a <= b, row by row of the triangle, `[head, width (width + 1) / 2]` float64.
    """

    n: int
    sums: NDArray[np.float64]
    products: NDArray[np.float64]

    def __add__(self, other: "Moment") -> "Moment":
        """Return the moment of both sets of vectors.

        Raises:
            ValueError: the two have different heads or widths.
        """
        if self.sums.shape != other.sums.shape:
            raise ValueError(
                f"expected vectors {list(self.sums.shape)} by head and width, came {list(other.sums.shape)}; merge "
                "scans of one model only"
            )
        return Moment(self.n + other.n, self.sums + other.sums, self.products + other.products)


class Moments(dict[VectorsOfLayer, Moment]):
    """The moments of every layer's vectors; their widths are known only after the first vectors."""

    def add(self, layer: VectorsOfLayer, moment: Moment) -> None:
        """Add a moment to that of a layer's vectors."""
        self[layer] = self[layer] + moment if layer in self else moment

    def merge(self, other: "Moments") -> None:
        """Add the moments of another instance."""
        for layer, moment in other.items():
            self.add(layer, moment)

    def state(self) -> State:
        """Return the sums, by layer."""
        return {
            f"{side}.{kind}.{layer}.{name}": np.asarray(numbers)
            for (side, kind, layer), moment in self.items()
            for name, numbers in vars(moment).items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state()` returned."""
        for prefix in (name.removesuffix(".n") for name in state if name.endswith(".n")):
            side, kind, layer = prefix.split(".")
            sums, products = (np.array(state[f"{prefix}.{name}"]) for name in ("sums", "products"))
            self[side, kind, int(layer)] = Moment(int(state[f"{prefix}.n"].item()), sums, products)


def moment_of(vectors: Tensor, is_content: Tensor) -> Moment:
    """Return the moment of some vectors, summed in float64 a few tokens at a time.

    Args:
        vectors: `[batch, head, token, width]`.
        is_content: True for tokens that are counted, `[batch, token]` bool; the others are not read.
    """
    item, token = is_content.nonzero(as_tuple=True)
    heads, width = vectors.shape[1], vectors.shape[3]
    sums = vectors.new_zeros((heads, width), dtype=torch.float64)
    products = vectors.new_zeros((heads, width, width), dtype=torch.float64)
    step = max(1, _AT_ONCE // (heads * width))
    for begin in range(0, len(item), step):
        chunk = slice(begin, begin + step)
        exact = vectors[item[chunk], :, token[chunk]].double()  # [token, head, width]
        sums += exact.sum(0)
        by_head = exact.transpose(0, 1)
        products += by_head.transpose(1, 2) @ by_head
    above = np.triu_indices(width)
    return Moment(len(item), sums.cpu().numpy(), products.cpu().numpy()[:, above[0], above[1]])


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
