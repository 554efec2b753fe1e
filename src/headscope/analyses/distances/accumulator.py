"""Jensen-Shannon divergence between all pairs of heads (section 6): how differently they attend."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.distances.kernels.pairs import pair_sums
from headscope.analyses.distances.result import DivergenceResult
from headscope.attention.stack import SEGMENT_LIMIT, RowDraw, RowStack
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator, Span, State, layout_state, read_layout
from headscope.statistics.groups import GroupedSums

DIVERGENCE_GROUPS = 32
"""Groups of documents that are resampled: fewer than elsewhere, for a group's sums are as many as pairs of heads."""


class DivergenceAccumulator(Accumulator):
    """Sum the divergence between all heads of a kind over rows, by group of documents.

    All rows of all segments count equally. Of a segment whose weights are too many to hold, a seeded sample of
    rows stands for the rest, and the error of that is kept. Heads of different kinds have different keys and are
    not compared.

    Args:
        layout: the kinds of attention and their sizes.
        seed: of the samples.
        groups: of documents, for resampling.
        limit: bytes of one segment's weights of a kind that are held at most; rows are sampled beyond.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "stack"

    def __init__(
        self,
        layout: Sequence[KindLayout],
        *,
        seed: int = 0,
        groups: int = DIVERGENCE_GROUPS,
        limit: int = SEGMENT_LIMIT,
    ) -> None:
        self.layout = tuple(layout)
        self.draw = RowDraw(self.layout, seed=seed, limit=limit)
        shapes: dict[str, tuple[int, ...]] = {}
        for part in self.layout:
            shapes[part.kind] = (_pairs(part),)
            shapes[f"n_rows.{part.kind}"] = ()
        self.sums = GroupedSums(shapes, groups=groups)
        # The variance of the sum over rows that sampling brings; rows read; segments.
        self._variance = {part.kind: np.zeros(_pairs(part)) for part in self.layout}
        self._counts = {part.kind: np.zeros(2, dtype=np.int64) for part in self.layout}
        self._stack = RowStack(self.draw)

    @property
    def held_bytes(self) -> int:
        """Bytes of the batch's weights that are held now."""
        return self._stack.held_bytes

    def bytes_of(self, tokens: int) -> int:
        """Return about how many bytes of a segment of so many tokens are held."""
        return self.draw.bytes_of(tokens)

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._stack = RowStack(self.draw)

    def update(self, tile: AttentionTile) -> None:
        """Hold the rows of a tile that are read."""
        self._stack.add(tile)

    def end(self, batch: Batch) -> None:
        """Compare the heads of every segment, and let go of the weights."""
        stacks = list(self._stack.stacks())
        found = pair_sums([stack.layers for stack in stacks])
        for stack, (total, squares) in zip(stacks, found, strict=True):
            read, rows = stack.layers[0].shape[1], stack.rows
            self.sums.add(
                batch.info.documents[stack.item],
                **{stack.kind: total * (rows / read), f"n_rows.{stack.kind}": np.array(rows)},
            )
            if read < rows:
                spread = np.maximum(squares - total * total / read, 0.0) / (read - 1)
                self._variance[stack.kind] += rows * (rows - read) / read * spread
            self._counts[stack.kind] += (read, 1)
        self._stack = RowStack(self.draw)

    def merge(self, other: "DivergenceAccumulator") -> None:
        """Add another accumulator's sums.

        Raises:
            ValueError: it watched a model of another shape, or sampled rows in another way.
        """
        if other.draw != self.draw:
            raise ValueError(
                f"expected sums over {self.layout} with seed {self.draw.seed}, came {other.layout} with seed "
                f"{other.draw.seed}, or another limit; merge scans of one model only, with one seed"
            )
        self.sums.merge(other.sums)
        for kind in self._counts:
            self._variance[kind] += other._variance[kind]
            self._counts[kind] += other._counts[kind]

    def compute(self) -> list[DivergenceResult]:
        """Return the divergences of each kind of attention."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, rows = stacked[part.kind], stacked[f"n_rows.{part.kind}"].astype(np.float64)
            number = float(rows.sum())
            read, segments = (int(count) for count in self._counts[part.kind])
            results.append(
                DivergenceResult(
                    kind=part.kind,
                    layers=part.layers,
                    heads=part.heads,
                    divergence=_square(sums.sum(0) / max(number, 1.0), part),
                    sampling_error=_square(np.sqrt(self._variance[part.kind]) / max(number, 1.0), part),
                    n=int(number),
                    rows_read=read,
                    segments=segments,
                    group_sums=_square(sums, part),
                    group_rows=rows,
                )
            )
        return results

    def state(self) -> State:
        """Return the sums with what they are of."""
        return {
            "DivergenceAccumulator.version": np.array(self.version),
            "draw": np.array([self.draw.seed, self.draw.limit]),
            **layout_state(self.layout),
            **{f"variance.{kind}": array.copy() for kind, array in self._variance.items()},
            **{f"counts.{kind}": array.copy() for kind, array in self._counts.items()},
            **{f"sums.{name}": array for name, array in self.sums.state().items()},
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> "DivergenceAccumulator":
        """Rebuild from `state()`; see `Accumulator.from_state`."""
        cls.check_version(state)
        seed, limit = (int(number) for number in state["draw"])
        made = cls(read_layout(state), seed=seed, limit=limit)
        for kind in made._counts:
            made._variance[kind] = np.array(state[f"variance.{kind}"], dtype=np.float64)
            made._counts[kind] = np.array(state[f"counts.{kind}"], dtype=np.int64)
        made.sums = GroupedSums.from_state(state, prefix="sums.")
        return made


def _pairs(part: KindLayout) -> int:
    heads = part.layers * part.heads
    return heads * (heads - 1) // 2


def _square(pairs: NDArray[np.float64], part: KindLayout) -> NDArray[np.float64]:
    """Lay out pairs `[..., pair]` as a symmetric matrix with a zero diagonal, `[..., head, head]`."""
    heads = part.layers * part.heads
    out = np.zeros((*pairs.shape[:-1], heads, heads))
    one, other = np.triu_indices(heads, 1)
    out[..., one, other] = pairs
    out[..., other, one] = pairs
    return out
