"""Gradient importance of every head: how much a loss depends on attention to each class of key (section 3.2).

The gate estimate (Michel et al. 2019) is measured too: how much a loss depends on a gate that multiplies the whole
output of the head. With z = sum of a v, dL/dgate at 1 is the signed sum of a dL/da over a segment's pairs of query and
key.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.host_copy import segment_means
from headscope.attention.row_statistics import class_indicators
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.vocabulary import KeyClass
from headscope.statistics.inference.confidence import Interval, difference_interval, ratio_interval
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import with_layer_means
from headscope.statistics.sums.kept import Declared, counted, summed

MEASURES = ("gradient", "weight_times_gradient")
GATE = "gate"
KEY_CLASSES = ("cls", "sep", "period_comma", "other")
_CODES = ((KeyClass.CLS,), (KeyClass.SEP,), (KeyClass.PERIOD_COMMA,), (KeyClass.OTHER, KeyClass.OTHER_PUNCTUATION))


@dataclass(frozen=True)
class ImportanceResult:
    """Gradient importance of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        values: importance of every head, followed by the layer's mean, `[layer, head + 1, MEASURES, KEY_CLASSES]`, in
            nats per unit of weight, and nats.
        differences: each class minus `other` over the same documents, the mean over a layer's heads,
            `[layer, MEASURES, KEY_CLASSES without other]`.
        n: number of segments with a key of the class, `[layer, KEY_CLASSES]`; 0 where it cannot occur.
        gate: |dL/dgate| of every head, followed by the layer's mean, `[layer, head + 1]`, nats.
        n_segments: number of segments, `[layer]`.
    """

    kind: str
    values: Interval
    differences: Interval
    n: NDArray[np.int64]
    gate: Interval
    n_segments: NDArray[np.int64]


def importance_sums(
    weights: Float[Tensor, "batch head row key"],
    gradient: Float[Tensor, "batch head row key"],
    pairs: Bool[Tensor, "batch row key"],
    key_classes: Int[Tensor, "batch key"],
) -> tuple[Float64[Tensor, "batch head 2 4"], Float64[Tensor, "batch head"]]:
    """Sum over pairs of query and key: |g| and |w g| by class of key, and w g, signed, over all keys.

    Args:
        weights: attention weights w.
        gradient: gradient of the loss with respect to the weights, g.
        pairs: True for pairs that are counted: both tokens real, the key visible from the query.
        key_classes: `KeyClass` of each key.

    Returns:
        `[batch, head, MEASURES, KEY_CLASSES]` and `[batch, head]`, float64.
    """
    counted = pairs[:, None]
    indicators = class_indicators(key_classes, _CODES, dtype=torch.float64)[:, None]
    signed = torch.where(counted, gradient, 0.0)  # a row of padding may contain NaN
    product = torch.where(counted, weights, 0.0).mul_(signed)
    # Sum along the rows in single precision, because in double it would cost more than everything else here.
    gate = product.sum(3, dtype=torch.promote_types(product.dtype, torch.float32)).double().sum(-1)
    weighted = product.abs_().sum(2, keepdim=True, dtype=torch.float64) @ indicators
    plain = signed.abs_().sum(2, keepdim=True, dtype=torch.float64) @ indicators
    return torch.cat([plain, weighted], dim=2), gate


def pair_counts(
    pairs: Bool[Tensor, "batch row key"], key_classes: Int[Tensor, "batch key"]
) -> Float64[Tensor, "batch 4"]:
    """Count the pairs of query and key by class of key, `[batch, KEY_CLASSES]` float64."""
    indicators = class_indicators(key_classes, _CODES, dtype=torch.float64)
    return (pairs.sum(1)[:, None].double() @ indicators)[:, 0]


def _less_other(mean: NDArray[Any], counts: NDArray[Any]) -> Interval:
    """Compare each class of key with `other` over the same documents.

    Args:
        mean: sums of the mean over a layer's heads, `[group, layer, MEASURES, KEY_CLASSES]`.
        counts: number of segments with such a key, `[group, layer, KEY_CLASSES]`.
    """
    number = np.broadcast_to(counts[:, :, None], mean.shape)
    classes, other = slice(None, -1), np.full(len(KEY_CLASSES) - 1, KEY_CLASSES.index("other"))
    sides = (mean[..., classes], number[..., classes], mean[..., other], number[..., other])
    return difference_interval(*sides)


class ImportanceAccumulator(Accumulator):
    """Sums the importance of attention to each class of key by group of documents.

    A value is the mean over a segment's pairs of query and key, then over the segments that have such a pair. The gate
    estimate of a segment is the absolute value of a sum over all its pairs.

    Args:
        layout: the kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "gradient"})

    def declare(self) -> Declared:
        """Declare the sums of segment means of each kind, and the numbers of segments."""
        classes = len(KEY_CLASSES)
        return {
            "importance": summed("layer", "head", len(MEASURES), classes),
            "n_with_class": counted("layer", classes),
            "gate": summed("layer", "head"),
            "n_segments": counted("layer"),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        pairs = tile.visibility.visible & tile.row_valid[:, :, None]
        sums, gate = importance_sums(tile.weights, tile.gradient, pairs, tile.keys.classes)
        numbers = pair_counts(pairs, tile.keys.classes)
        self.segment_sums.add(tile, importance=sums, pairs=numbers, gate=gate)

    def end(self, batch: Batch) -> None:
        """Turn the batch's sums into segment means and add them to their documents."""
        for kind, layers, (sums, pairs, gate) in self.segment_sums.by_kind("importance", "pairs", "gate"):
            means, some = segment_means(sums, pairs[:, :, None, None])
            self.add_segments(
                batch, kind, layers, importance=means, n_with_class=some[:, :, 0, 0], gate=np.abs(gate), n_segments=1
            )

    def compute(self) -> tuple[ImportanceResult, ...]:
        """Return each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, counts, gate, segments = (
                stacked[f"{name}.{part.kind}"] for name in ("importance", "n_with_class", "gate", "n_segments")
            )
            everything = with_layer_means(sums)
            results.append(
                ImportanceResult(
                    kind=part.kind,
                    values=ratio_interval(everything, counts[:, :, None, None, :], scale="positive"),
                    differences=_less_other(everything[:, :, -1], counts),
                    n=counts.sum(0).astype(np.int64),
                    gate=ratio_interval(with_layer_means(gate), segments[:, :, None], scale="positive"),
                    n_segments=segments.sum(0).astype(np.int64),
                )
            )
        return tuple(results)
