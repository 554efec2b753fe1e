"""Covariances of the queries, keys and outputs of every head, with a sample of tokens for the map."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.examples import ids_around
from headscope.analyses.pca.directions import Moments, Principal, moment_of, principal_directions
from headscope.attention.tile import AttentionTile, HeadVectors
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.hash_sample import SAMPLED, HashSample, SegmentName
from headscope.statistics.sums.kept import Declared
from headscope.statistics.sums.row_selection import keys_of_batch, token_hashes

MOST_TOKENS, FEWEST_TOKENS = 100, 24
MOST_BYTES, FEWEST_LAYERS = 15_000_000, 8
_HEADS_TIMES_TOKENS = 12_288


def tokens_for(layout: Sequence[KindLayout]) -> int:
    """Return the number of tokens in the sample: 100, fewer for more than 122 heads, 24 for 512 heads or more.

    Their vectors, three of width 64 in float16, take at most 5 MB for up to 512 heads.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_TOKENS, max(FEWEST_TOKENS, _HEADS_TIMES_TOKENS // max(1, heads)))


def numbers_of(heads: int, width: int) -> int:
    """Return the number of values in the moments of heads' vectors: sums, and a triangle of products."""
    return heads * (width + width * (width + 1) // 2)


def layers_apart(layout: Sequence[KindLayout], kind: str, numbers: int) -> int:
    """Return the step between a kind's measured layers, counted from the last.

    The step is 1 if the sums take at most 15 MB. Otherwise the number of measured layers is the largest that fits, at
    least 8.

    Args:
        layout: the kinds of attention and their sizes.
        kind: kind of attention.
        numbers: number of float64 values per layer.
    """
    (layers,) = (part.layers for part in layout if part.kind == kind)
    share = MOST_BYTES * layers / sum(part.layers for part in layout)
    allowed = max(FEWEST_LAYERS, int(share // (8 * numbers)))
    return -(-layers // allowed)


SIDES = ("query", "key", "output")
BEFORE, AFTER = 5, 5
"""Number of tokens kept on either side of a token."""
TOKEN = np.dtype([*SAMPLED, ("position", np.int32), ("class", np.uint8), ("ids", np.int32, BEFORE + 1 + AFTER)])
"""A token with its position in its input, `KeyClass`, and the ids of the tokens around it."""
_LARGEST = float(np.finfo(np.float16).max)
ROW, KEY = "row", "key"
"""The axes of tokens; if queries and keys are the same tokens, there is one sample, of rows."""


@dataclass(frozen=True)
class SampledTokens:
    """The sample of tokens of an axis.

    Attributes:
        tokens: tokens of type `TOKEN`, by hash.
        segments: document and index of each token's input.
    """

    tokens: NDArray[Any]
    segments: Sequence[SegmentName]


@dataclass(frozen=True)
class PcaResult:
    """The principal directions of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        heads: number of heads in a layer.
        directions: principal directions by side and 0-based layer, layer by layer, where vectors were known.
        samples: the tokens on the map, by axis: `row` for attending tokens, `key` for the attended tokens of cross
            attention.
        vectors: vectors of the sampled tokens, by side and layer, `[token, head, width]` float16.
    """

    kind: str
    heads: int
    directions: Mapping[tuple[str, int], Principal]
    samples: Mapping[str, SampledTokens]
    vectors: Mapping[tuple[str, int], NDArray[np.float16]]


class PcaAccumulator(Accumulator):
    """Sums the vectors of every head and their products, and keeps a sample of tokens for the map.

    All tokens of all segments count equally; special tokens are left out. Keys count once per segment, and once per
    group of heads that share them. A head of width d takes 3 d (d + 3) / 2 float64 values, 51 kB at width 64; with more
    than 300 such heads only some layers are measured (`layers_apart`), because sums need float64. With the vectors of
    the sampled tokens, 1,024 heads of width 64 take 16 MB.

    Args:
        layout: the kinds of attention and their sizes.
        seed: seed of the hashes.
        most: number of tokens sampled along an axis; by default the result of `tokens_for`.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})
    parameters: ClassVar[tuple[str, ...]] = ("seed", "most")

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int | None = None) -> None:
        self.seed, self.most = seed, tokens_for(layout) if most is None else most
        self._candidates: dict[tuple[str, str], _Candidates] = {}
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the moments, and the sample of tokens of each axis."""
        self._moments = Moments()
        self._samples = {
            (part.kind, axis): HashSample(TOKEN, most=self.most) for part in self.layout for axis in _axes(part.kind)
        }
        samples = {f"sample.{kind}.{axis}": sample for (kind, axis), sample in self._samples.items()}
        return {"moments": self._moments, **samples}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._candidates = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's vectors; keys are added with the first rows."""
        vectors = tile.vectors
        if vectors is None or not self._is_measured(tile, vectors):
            return
        sides = [("query", vectors.queries, ROW, tile.rows), ("output", vectors.outputs, ROW, tile.rows)]
        if tile.start == 0:
            sides.append(("key", vectors.keys, ROW if tile.square else KEY, slice(0, vectors.keys.shape[2])))
        for side, values, axis, rows in sides:
            info = tile.keys if side == "key" else tile.queries
            self._moments.add((side, tile.kind, tile.layer), moment_of(values, info.content[:, rows]))
            self._candidates_of(tile, axis).take(f"{side}.{tile.layer}", values, rows=rows)

    def end(self, batch: Batch) -> None:
        """Offer the tokens of the batch to the samples, now that all layers' vectors are known."""
        for kind_and_axis, candidates in self._candidates.items():
            self._samples[kind_and_axis].offer(candidates.tokens, candidates.segments, candidates.vectors)
        self._candidates = {}

    def compute(self) -> tuple[PcaResult, ...]:
        """Return the directions of each kind."""
        results = []
        for part in self.layout:
            directions = {
                (side, layer): principal_directions(moment)
                for layer, side in product(range(part.layers), SIDES)
                if (moment := self._moments.get((side, part.kind, layer))) is not None
            }
            samples, vectors = {}, {}
            for axis in _axes(part.kind):
                sample = self._samples[part.kind, axis].sampled()
                segments = [sample.segments[number] for number in sample.items["segment"].tolist()]
                samples[axis] = SampledTokens(sample.items, segments)
                for name, values in sample.vectors.items():
                    side, number = name.split(".")
                    vectors[side, int(number)] = values
            results.append(PcaResult(part.kind, part.heads, directions, samples, vectors))
        return tuple(results)

    def _is_measured(self, tile: AttentionTile, vectors: HeadVectors) -> bool:
        """Return True if the layer of a tile is measured; the last layer always is."""
        sides = (vectors.queries, vectors.keys, vectors.outputs)
        numbers = sum(numbers_of(values.shape[1], values.shape[3]) for values in sides)
        (layers,) = (part.layers for part in self.layout if part.kind == tile.kind)
        return (layers - 1 - tile.layer) % layers_apart(self.layout, tile.kind, numbers) == 0

    def _candidates_of(self, tile: AttentionTile, axis: str) -> "_Candidates":
        """Return the candidates of an axis in this batch, which are the same tokens in all layers."""
        kind_and_axis = (tile.kind, axis)
        if kind_and_axis not in self._candidates:
            info = tile.queries if axis == ROW else tile.keys
            self._candidates[kind_and_axis] = _Candidates(info, self._samples[kind_and_axis], seed=self.seed)
        return self._candidates[kind_and_axis]


class _Candidates:
    """The tokens of a batch that may enter the sample, with their vectors in each layer.

    Args:
        info: the axis.
        sample: the sample.
        seed: seed of the hashes.
    """

    def __init__(self, info: SegmentInfo, sample: HashSample, *, seed: int) -> None:
        keys = keys_of_batch(info.documents, info.indices, seed=seed)
        positions = info.positions.cpu().numpy()
        hashes = token_hashes(keys, positions)
        item, at = np.nonzero(info.content.cpu().numpy() & (hashes < sample.least[0]))
        first = np.argsort(hashes[item, at], kind="stable")[: sample.most]
        item, at = item[first], at[first]
        self.segments = list(zip(info.documents, info.indices, strict=True))
        self.item, self.at = torch.from_numpy(item), torch.from_numpy(at)
        self.tokens = np.zeros(len(item), dtype=TOKEN)
        self.tokens["segment"] = item
        self.tokens["hash"], self.tokens["position"] = hashes[item, at], positions[item, at]
        self.tokens["class"] = info.classes.cpu().numpy()[item, at]
        index = self.item.to(info.ids.device), self.at.to(info.ids.device)
        self.tokens["ids"] = ids_around(info, *index, before=BEFORE, after=AFTER).cpu().numpy()
        self.vectors: dict[str, NDArray[np.float16]] = {}

    def take(self, side: str, vectors: Tensor, *, rows: slice) -> None:
        """Store a layer's vectors of the candidates within some rows, `[batch, head, row, width]`."""
        if not len(self.item):
            return
        if side not in self.vectors:
            shape = (len(self.item), vectors.shape[1], vectors.shape[3])
            self.vectors[side] = np.zeros(shape, dtype=np.float16)
        inside = ((self.at >= rows.start) & (self.at < rows.stop)).nonzero()[:, 0]
        if not len(inside):
            return
        index = self.item[inside].to(vectors.device), (self.at[inside] - rows.start).to(vectors.device)
        selected = vectors[index[0], :, index[1]].float().clamp(-_LARGEST, _LARGEST)
        self.vectors[side][inside.numpy()] = selected.cpu().numpy()


def _axes(kind: str) -> tuple[str, ...]:
    return (ROW, KEY) if kind == "cross" else (ROW,)
