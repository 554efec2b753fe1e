"""Hand-made attention maps, fed to accumulators as a source of tiles."""

from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np
import torch

from headscope.analyses.why.patching import PatchTile
from headscope.analyses.why.pulls import sources_of
from headscope.analyses.why.source import PullTile
from headscope.attention.interventions.outcome import HeadEffects
from headscope.attention.output_norms import OutputNorms
from headscope.attention.row_statistics import visibility_of
from headscope.attention.tile import AttentionTile, HeadVectors
from headscope.encoding.batching import collate
from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout
from support.inputs import vocabulary


@dataclass(frozen=True, kw_only=True)
class PulledTile(PullTile, PatchTile):
    """A tile with pulls and with the changes by path patching."""


class HandMadeSource:
    """Feed given maps as tiles, with any batches, tile heights and padding side.

    Args:
        segments: the inputs.
        weights: returns the map of a segment, `[layer, head, n, n]`.
        batch_size, height, side: how to cut and pad, which must not change any result.
        sink: returns the share of each row that a learned sink takes, `[layer, head, n]`; the rows of `weights` sum
            to the rest.
    """

    def __init__(
        self,
        segments: list[Segment],
        weights: Callable[[Segment], np.ndarray],
        *,
        kind: str = "encoder",
        batch_size: int = 4,
        height: int | None = None,
        side: str = "right",
        sink: Callable[[Segment], np.ndarray] | None = None,
    ):
        self.segments, self.weights, self.kind = segments, weights, kind
        self.batch_size, self.height, self.side, self.sink = batch_size, height, side, sink
        layers, heads = weights(segments[0]).shape[:2]
        sinks = tuple(range(layers)) if sink is not None else ()
        self.layout = (KindLayout(kind, layers, heads, sinks=sinks),)
        self.fed: list[torch.Tensor] = []

    @staticmethod
    def gradient_of(weights: torch.Tensor) -> torch.Tensor:
        """Return a gradient that depends on the weight alone, of either sign."""
        return torch.sin(40 * weights)

    @staticmethod
    def effects_of(weights: torch.Tensor) -> HeadEffects:
        """Return effects that depend on a layer's whole weights alone; padding holds garbage here too."""
        heads = torch.nan_to_num(weights).square().sum((2, 3))
        both = torch.stack([torch.sin(heads), heads, torch.cos(heads)], dim=-1)
        several = torch.stack([both, torch.cos(both), 2 * both], dim=2)
        layer = several.mean(1)
        return HeadEffects(
            loss=heads.sum(1),
            heads=several,
            layer=layer,
            model=layer,
            sets=several[:, :2],
            gate=torch.cos(2 * heads),
            attribution=torch.stack([torch.sin(2 * heads), heads, 2 * heads], dim=-1),
        )

    def tile_of(self, full: torch.Tensor, valid: torch.Tensor, needs: Set[str], **parts: object) -> AttentionTile:
        """Return a tile; pulls and patches, if needed, depend on a layer's whole weights alone."""
        if not needs & {"pulls", "patches"}:
            return AttentionTile(**parts)
        weights, sources = torch.nan_to_num(full).square().sum((2, 3)), len(sources_of(self.layout))
        accounts = torch.sin(weights[..., None] * torch.arange(1, 4 * sources + 1)).unflatten(-1, (2, 2, sources))
        tokens = valid.sum(1)
        few = accounts[..., :2]
        moved = torch.where(few > 0.5, torch.nan, few)
        return PulledTile(
            **parts,
            accounts=accounts,
            has_rows=torch.stack([tokens > 0, tokens > 5], dim=1),
            moved=moved[:, :, 0],
            pairs=moved[:, :, 1],
            pull=weights,
        )

    @staticmethod
    def written_of(weights: torch.Tensor, ids: torch.Tensor, rows: slice) -> OutputNorms:
        """Return output norms that depend on a tile's weights and tokens alone; padding holds garbage here too."""
        heads = torch.arange(1, weights.shape[1] + 1, dtype=torch.float64)[:, None]
        keys = heads + ids[:, None] % 7
        seen = torch.nan_to_num(weights)
        stream = (ids + 2.0)[:, rows].double()
        return OutputNorms(keys=keys, outputs=(seen @ keys[..., None])[..., 0], stream=stream)

    @staticmethod
    def vectors_of(ids: torch.Tensor, layer: int, heads: int, rows: slice) -> HeadVectors:
        """Return three-dimensional vectors that depend on the tokens; keys have one group, padding holds garbage."""
        of_head = torch.arange(1, heads + 1, dtype=torch.float64)[:, None, None]
        turned = (ids[:, None, :, None] + 1.0) * torch.tensor([0.3, 1.1, 2.3], dtype=torch.float64)
        vectors = torch.sin(turned * of_head + layer)
        padding = (ids == vocabulary().pad_id)[:, None, :, None]
        vectors = vectors.masked_fill(padding, float("nan"))
        return HeadVectors(
            queries=vectors[:, :, rows], keys=torch.cos(3 * vectors[:, :1]), outputs=(vectors**2)[:, :, rows]
        )

    def run(self, consumer, needs):
        for start in range(0, len(self.segments), self.batch_size):
            group = self.segments[start : start + self.batch_size]
            causal = self.kind == "decoder"
            batch = collate(group, vocabulary(), padding_side=self.side, decoder=causal)
            consumer.begin(batch)
            info = batch.info
            width = info.ids.shape[1]
            maps = [self.weights(segment) for segment in group]
            layers, heads = maps[0].shape[:2]
            sinks = None if self.sink is None else [self.sink(segment) for segment in group]
            for layer in range(layers):
                # Padding rows and columns hold garbage, which must not reach any number.
                full = torch.full((len(group), heads, width, width), float("nan"), dtype=torch.float64)
                for item, (segment, own) in enumerate(zip(group, maps)):
                    at = info.valid[item].nonzero()[:, 0]
                    full[item, :, at[0] : at[-1] + 1] = 0.0
                    full[item, :, at[0] : at[-1] + 1, at[0] : at[-1] + 1] = torch.as_tensor(own[layer])
                    assert len(at) == len(segment)
                beside = None
                if sinks is not None:
                    beside = torch.full((len(group), heads, width), float("nan"), dtype=torch.float64)
                    for item, own in enumerate(sinks):
                        beside[item][:, info.valid[item]] = torch.as_tensor(own[layer])
                height = self.height or width
                for first in range(0, width, height):
                    rows = slice(first, min(width, first + height))
                    tile_weights = full[:, :, rows].clone()
                    self.fed.append(tile_weights)
                    consumer.update(
                        self.tile_of(
                            full,
                            info.valid,
                            needs,
                            kind=self.kind,
                            layer=layer,
                            start=rows.start,
                            queries=info,
                            keys=info,
                            visibility=visibility_of(
                                None,
                                queries=info,
                                keys=info,
                                rows=rows,
                                square=True,
                                causal=causal,
                                sink=beside is not None,
                            ),
                            groups=tuple(range(heads)),
                            given_weights=tile_weights,
                            given_gradient=self.gradient_of(tile_weights),
                            sink=None if beside is None else beside[:, :, rows],
                            written=self.written_of(tile_weights, info.ids, rows) if "written" in needs else None,
                            vectors=self.vectors_of(info.ids, layer, heads, rows) if "vectors" in needs else None,
                            effects=self.effects_of(full) if "effects" in needs else None,
                        )
                    )
            consumer.end(batch)


def random_map(segment: Segment, *, layers: int = 2, heads: int = 3, causal: bool = False) -> np.ndarray:
    """Return a random attention map that depends on the segment alone."""
    seed = int.from_bytes(f"{segment.document}/{segment.index}".encode()[-8:], "little") % (1 << 32)
    rng = np.random.default_rng(seed)
    scores = 3 * rng.normal(size=(layers, heads, len(segment), len(segment)))
    if causal:
        scores = np.where(np.tril(np.ones((len(segment), len(segment)), dtype=bool)), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def random_sink(segment: Segment, *, layers: int = 2, heads: int = 3) -> np.ndarray:
    """Return the share of each row that a learned sink takes, from almost none to most of it, `[layer, head, n]`."""
    rng = np.random.default_rng(len(segment) + segment.index)
    return rng.uniform(0.01, 0.95, size=(layers, heads, len(segment)))


def beside_a_sink(segment: Segment) -> np.ndarray:
    """Return `random_map` with rows that sum to 1 less `random_sink`."""
    return random_map(segment) * (1 - random_sink(segment))[..., None]
