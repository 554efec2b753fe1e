"""How the queries, keys and outputs of every head vary: their covariances, and a few tokens to draw them by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.row_hashes import row_hashes, segment_keys
from headscope.analyses.distribution.row_tokens import ids_around
from headscope.analyses.distribution.row_values import content_tokens
from headscope.analyses.pca.how_much import layers_apart, numbers_of, tokens_for
from headscope.analyses.pca.moments import Moments, moment_of
from headscope.analyses.pca.principal import Principal, principal_directions
from headscope.analyses.pca.token_sample import AFTER, BEFORE, TOKEN, Segment, TokenSample
from headscope.attention.head_vectors import HeadVectors
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.kept import Declared, State

SIDES = ("query", "key", "output")
_LARGEST = float(np.finfo(np.float16).max)
ROW, KEY = "row", "key"
"""The axes that tokens are drawn from: where queries and keys are the same tokens there is one draw, of rows."""


@dataclass(frozen=True)
class DrawnTokens:
    """The tokens of an axis that are drawn.

    Attributes:
        axis: `row` for those that attend, `key` for those attended to across attention.
        tokens: of `TOKEN`, by hash.
        segments: document and index of the input of each.
    """

    axis: str
    tokens: NDArray[Any]
    segments: Sequence[Segment]


@dataclass(frozen=True)
class DirectionResult:
    """How the vectors of one kind of attention vary.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        heads: in a layer.
        found: by side and layer (from 0), where vectors were handed out.
        drawn: the tokens on the map, by axis.
        vectors: those of the drawn tokens, by side and layer, `[token, head, width]` float16.
    """

    kind: str
    heads: int
    found: Mapping[tuple[str, int], Principal]
    drawn: Mapping[str, DrawnTokens]
    vectors: Mapping[tuple[str, int], NDArray[np.float16]]


class PcaAccumulator(Accumulator):
    """Sum the vectors of every head and their products, and keep some tokens to draw.

    All tokens of all segments count equally, special tokens left out; keys are taken once a segment, and of heads that
    share them once a group. What is held of a head of width d are 3 d (d + 3) / 2 numbers of float64, 51 kB of a head
    of 64: of more than 300 such heads some layers alone are measured (`layers_apart`), for float32 would not do for
    sums. With the vectors of the drawn tokens that is 16 MB of 1,024 heads of 64.

    Args:
        layout: the kinds of attention and their sizes.
        seed: of the hashes.
        most: tokens drawn along an axis; None for as many as `tokens_for` says.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})
    merges: ClassVar[str] = "; merge scans of one model only, with one seed"

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int | None = None) -> None:
        self.seed, self.most = seed, tokens_for(layout) if most is None else most
        self._open: dict[tuple[str, str], _Drawing] = {}
        super().__init__(layout)

    def declare(self) -> Declared:
        """Keep moments and, of each axis, some tokens."""
        self._moments = Moments()
        self._samples = {
            (part.kind, axis): TokenSample(most=self.most)
            for part in self.layout
            for axis in _axes(part.kind)
        }
        samples = {f"sample.{kind}.{axis}": own for (kind, axis), own in self._samples.items()}
        return {"moments": self._moments, **samples}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._open = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's vectors; its keys come with the first rows."""
        vectors = tile.vectors
        if vectors is None or not self._is_measured(tile, vectors):
            return
        rows = tile.rows
        sides = {"query": vectors.queries, "output": vectors.outputs}
        asked = content_tokens(tile.queries)[:, rows]
        for side, own in sides.items():
            self._moments.add((side, tile.kind, tile.layer), moment_of(own, asked))
            self._drawing(tile, ROW).take((side, tile.layer), own, rows=rows)
        if tile.start == 0:
            own = vectors.keys
            self._moments.add((SIDES[1], tile.kind, tile.layer), moment_of(own, content_tokens(tile.keys)))
            axis = ROW if tile.square else KEY
            self._drawing(tile, axis).take((SIDES[1], tile.layer), own, rows=slice(0, own.shape[2]))

    def end(self, batch: Batch) -> None:
        """Offer the tokens of the batch, once all layers' vectors are there."""
        for place, drawing in self._open.items():
            self._samples[place].offer(drawing.tokens, drawing.segments, drawing.vectors)
        self._open = {}

    def compute(self) -> tuple[DirectionResult, ...]:
        """Return the directions of each kind."""
        results = []
        for part in self.layout:
            found = {}
            for side in SIDES:
                for layer in range(part.layers):
                    moment = self._moments.of((side, part.kind, layer))
                    if moment is not None:
                        found[side, layer] = principal_directions(moment)
            drawn, vectors = {}, {}
            for axis in _axes(part.kind):
                tokens, segments, own = self._samples[part.kind, axis].rows()
                drawn[axis] = DrawnTokens(axis, tokens, segments)
                vectors.update(own)
            results.append(DirectionResult(part.kind, part.heads, found, drawn, vectors))
        return tuple(results)

    def settings(self) -> State:
        """Return the seed and how many tokens are drawn."""
        return {"pca.rules": np.array([self.seed, self.most])}

    @classmethod
    def with_settings(
        cls, layout: Sequence[KindLayout], settings: Mapping[str, NDArray[Any]]
    ) -> "PcaAccumulator":
        """Make an empty one with these rules."""
        seed, most = (int(number) for number in settings["pca.rules"])
        return cls(layout, seed=seed, most=most)

    def described(self) -> str:
        """Return the layout, the seed and how many tokens are drawn."""
        return f"{self.layout} with seed {self.seed} and {self.most} tokens drawn"

    def _is_measured(self, tile: AttentionTile, vectors: HeadVectors) -> bool:
        """Whether the sums of a tile's layer are kept; the last layer's are."""
        sides = (vectors.queries, vectors.keys, vectors.outputs)
        numbers = sum(numbers_of(own.shape[1], own.shape[3]) for own in sides)
        (layers,) = (part.layers for part in self.layout if part.kind == tile.kind)
        return (layers - 1 - tile.layer) % layers_apart(self.layout, tile.kind, numbers) == 0

    def _drawing(self, tile: AttentionTile, axis: str) -> "_Drawing":
        """Return what is drawn of an axis in this batch: the same tokens in all layers."""
        place = (tile.kind, axis)
        if place not in self._open:
            info = tile.queries if axis == ROW else tile.keys
            self._open[place] = _Drawing(info, self._samples[place], seed=self.seed)
        return self._open[place]


class _Drawing:
    """The tokens of a batch that may be drawn, and what layers hand out of them.

    Args:
        info: the axis.
        sample: that they are drawn for.
        seed: of the hashes.
    """

    def __init__(self, info: SegmentInfo, sample: TokenSample, *, seed: int) -> None:
        segments = list(zip(info.documents, info.indices, strict=True))
        keys = segment_keys(segments, seed=seed)
        positions = info.positions.cpu().numpy()
        # One hash a token: the same tokens stand for all heads.
        hashes = row_hashes(keys, positions, kind="encoder", layer=0, heads=1)[:, 0]
        item, at = np.nonzero(content_tokens(info).cpu().numpy() & (hashes < np.uint64(sample.least)))
        first = np.argsort(hashes[item, at], kind="stable")[: sample.most]
        item, at = item[first], at[first]
        self.segments: list[Segment] = [segments[place] for place in item.tolist()]
        self.item, self.at = torch.from_numpy(item), torch.from_numpy(at)
        self.tokens = np.zeros(len(item), dtype=TOKEN)
        self.tokens["hash"], self.tokens["position"] = hashes[item, at], positions[item, at]
        self.tokens["class"] = info.classes.cpu().numpy()[item, at]
        place = self.item.to(info.ids.device), self.at.to(info.ids.device)
        self.tokens["ids"] = ids_around(info, *place, before=BEFORE, after=AFTER).cpu().numpy()
        self.vectors: dict[tuple[str, int], NDArray[np.float16]] = {}

    def take(self, side: tuple[str, int], vectors: Tensor, *, rows: slice) -> None:
        """Take a layer's vectors of those of its tokens that lie in some rows, `[batch, head, row, width]`."""
        if not len(self.item):
            return
        if side not in self.vectors:
            shape = (len(self.item), vectors.shape[1], vectors.shape[3])
            self.vectors[side] = np.zeros(shape, dtype=np.float16)
        own = ((self.at >= rows.start) & (self.at < rows.stop)).nonzero()[:, 0]
        if not len(own):
            return
        place = self.item[own].to(vectors.device), (self.at[own] - rows.start).to(vectors.device)
        chosen = vectors[place[0], :, place[1]].float().clamp(-_LARGEST, _LARGEST)
        self.vectors[side][own.numpy()] = chosen.cpu().numpy()


def _axes(kind: str) -> tuple[str, ...]:
    return (ROW, KEY) if kind == "cross" else (ROW,)
