"""Sums of vectors and of their products, from which covariances are made (a store of an accumulator)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.kept import State

_AT_ONCE = 1 << 22  # numbers of float64, 32 MiB

Place = tuple[str, str, int]
"""Whose vectors (`query`, `key`, `output`), kind of attention, layer from 0."""


@dataclass(frozen=True)
class Moment:
    """What is kept of some vectors of a layer.

    Attributes:
        n: how many there are of each head.
        sums: `[head, width]` float64; of keys a head is a group of heads that share them.
        products: sums of `x_a x_b` for a <= b, row by row of the triangle, `[head, width (width + 1) / 2]` float64.
    """

    n: int
    sums: NDArray[np.float64]
    products: NDArray[np.float64]

    def __add__(self, other: "Moment") -> "Moment":
        """Return what is kept of both.

        Raises:
            ValueError: they are of other heads or widths.
        """
        if self.sums.shape != other.sums.shape:
            raise ValueError(
                f"expected vectors {list(self.sums.shape)} by head and width, came {list(other.sums.shape)}; merge "
                "scans of one model only"
            )
        return Moment(self.n + other.n, self.sums + other.sums, self.products + other.products)


class Moments:
    """The moments of every layer's vectors; how wide these are shows when the first come."""

    def __init__(self) -> None:
        self._kept: dict[Place, Moment] = {}

    def add(self, place: Place, moment: Moment) -> None:
        """Add to what is kept of a layer's vectors."""
        self._kept[place] = self._kept[place] + moment if place in self._kept else moment

    def of(self, place: Place) -> Moment | None:
        """Return what is kept of a layer's vectors; None where none came."""
        return self._kept.get(place)

    def merge(self, other: "Moments") -> None:
        """Add what another kept."""
        for place, moment in other._kept.items():
            self.add(place, moment)

    def state(self) -> State:
        """Return the sums, by layer."""
        return dict(self._arrays())

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `state()` returned."""
        for name in state:
            if name.endswith(".n"):
                side, kind, layer, _ = name.split(".")
                own = f"{side}.{kind}.{layer}"
                moment = Moment(
                    int(state[name].item()),
                    np.array(state[f"{own}.sums"]),
                    np.array(state[f"{own}.products"]),
                )
                self._kept[side, kind, int(layer)] = moment

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        for (side, kind, layer), moment in self._kept.items():
            own = f"{side}.{kind}.{layer}"
            yield f"{own}.n", np.array(moment.n)
            yield f"{own}.sums", moment.sums
            yield f"{own}.products", moment.products


def moment_of(vectors: Tensor, asked: Tensor) -> Moment:
    """Return the moment of some vectors, summed in float64 a few tokens at a time.

    Args:
        vectors: `[batch, head, token, width]`.
        asked: which tokens count, `[batch, token]` bool; what the others hold is not read.
    """
    item, token = asked.nonzero(as_tuple=True)
    heads, width = vectors.shape[1], vectors.shape[3]
    sums = vectors.new_zeros((heads, width), dtype=torch.float64)
    products = vectors.new_zeros((heads, width, width), dtype=torch.float64)
    step = max(1, _AT_ONCE // (heads * width))
    for begin in range(0, len(item), step):
        own = slice(begin, begin + step)
        exact = vectors[item[own], :, token[own]].double()  # [token, head, width]
        sums += exact.sum(0)
        by_head = exact.transpose(0, 1)
        products += by_head.transpose(1, 2) @ by_head
    above = np.triu_indices(width)
    return Moment(len(item), sums.cpu().numpy(), products.cpu().numpy()[:, above[0], above[1]])
