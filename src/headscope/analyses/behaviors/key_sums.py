"""Sums over a tile's rows of attention to each behavior's keys, by weight and norm-weighted, in one pass.

Norm-weighted attention of row i to key j is the weight times a number of the key, divided by the row's sum: the same
sums over rows, diagonals and pairs give both measures. Where a gate makes this number depend on the row, too, the sums
are computed twice.
"""

from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.key_sets import COLUMN, LOCAL, KeySets, Shares

# Number of weights converted to float64 at a time: they are read several times, so they should fit into the cache.
_WEIGHTS_AT_ONCE = 1 << 19
# An accelerator computes many inputs together: 256 MiB.
_ON_ACCELERATOR = 1 << 25


@dataclass(frozen=True, kw_only=True)
class KeySums:
    """Sums over the counted rows of a tile.

    Attributes:
        weight: weight on each behavior's keys, `[batch, head, NAMES]` float64.
        norm: the same for norm-weighted attention, `a_ij |f_j|`, each row divided by its sum; None where not known.
        empty_rows: mask of the rows without any output, `[batch, head, row]` bool; they are not in `norm`.
    """

    weight: Tensor
    norm: Tensor | None = None
    empty_rows: Tensor | None = None


def key_sums(sets: KeySets, weights: Tensor, norms: Tensor | None = None) -> KeySums:
    """Sum over the counted rows.

    Weights on keys that a row does not see are 0, so they add nothing.

    Args:
        sets: counted rows, and keys of each behavior.
        weights: attention weights, `[batch, head, row, key]`; rows of padding may hold anything.
        norms: `OutputNorms.lengths`, `[batch, head, key]` or by row, too; None where output norms are not known.
    """
    if norms is not None and norms.ndim == 4:
        # Each pair's weight is multiplied by its length; the value of a padded key may be anything; its weight is 0.
        products = weights.double() * torch.where(sets.valid[:, None, None], norms.double(), 0.0)
        return replace(key_sums(sets, products, torch.ones_like(norms[:, :, 0])), weight=key_sums(sets, weights).weight)
    by_key, distance, shares = _over_rows(sets, weights, norms)
    out = torch.zeros((*by_key.shape[:3], len(NAMES)), dtype=torch.float64, device=weights.device)
    out[..., COLUMN["first"]] = by_key.gather(3, sets.first[None, :, None, None].expand(*out.shape[:3], 1))[..., 0]
    out.index_copy_(3, sets.class_columns, by_key @ sets.classes)
    if sets.square:
        out[..., COLUMN["distance"]] = distance
        at_offsets = _at_offsets(sets, weights, shares)
        out[..., COLUMN["local"]] = at_offsets.sum(-1)
        out[..., COLUMN["previous"]] = at_offsets[..., LOCAL.index(-1)]
        for name, pairs in sets.pairs.items():
            out[..., COLUMN[name]] = pairs.sums(weights, shares)
    if shares is None:
        return KeySums(weight=out[0])
    empty_rows = (shares.rows == 0) & sets.counted[:, None]
    return KeySums(weight=out[0], norm=out[1], empty_rows=empty_rows)


def _over_rows(sets: KeySets, weights: Tensor, norms: Tensor | None) -> tuple[Tensor, Tensor, Shares | None]:
    """Sum weights over rows, `[measure, batch, head, key]`, and distances over both, `[measure, batch, head]`."""
    batch, heads, rows, keys = weights.shape
    measures = 1 if norms is None else 2
    by_key = weights.new_zeros((measures, batch, heads, keys), dtype=torch.float64)
    distance = weights.new_zeros((measures, batch, heads), dtype=torch.float64)
    shares = None
    if norms is not None:
        # The value of a padded key may be anything; its weight is 0.
        shares = Shares(by_key.new_zeros((batch, heads, rows)), torch.where(sets.valid[:, None], norms.double(), 0.0))
    at_once = _WEIGHTS_AT_ONCE if weights.device.type == "cpu" else _ON_ACCELERATOR
    height = min(rows, max(1, at_once // (heads * keys)))
    number = min(batch, max(1, at_once // (heads * height * keys)))
    memory = by_key.new_empty((number, heads, height, keys))
    for first, start in product(range(0, batch, number), range(0, rows, height)):
        items, stretch = slice(first, min(first + number, batch)), slice(start, min(start + height, rows))
        exact = memory[: items.stop - first, :, : stretch.stop - start]
        exact.copy_(weights[items, :, stretch])
        exact.masked_fill_(~sets.counted[items, None, stretch, None], 0.0)
        per_row = by_key.new_ones((len(exact), heads, measures, exact.shape[2]))
        if shares is not None:
            # With the factors in this order the narrow product is fast.
            written = (shares.keys[items][:, :, None] @ exact.transpose(2, 3))[:, :, 0]
            per_row[:, :, 1] = torch.where(written > 0, 1 / written, 0.0)
            shares.rows[items, :, stretch] = per_row[:, :, 1]
        by_key[:, items] += (per_row @ exact).permute(2, 0, 1, 3)
        if sets.square:
            exact *= sets.distances[stretch]
            weighted_distances = (per_row @ exact).permute(2, 0, 1, 3)
            distance[0, items] += weighted_distances[0].sum(-1)
            if shares is not None:
                distance[1, items] += (weighted_distances[1] * shares.keys[items]).sum(-1)
    if shares is not None:
        by_key[1] *= shares.keys
    return by_key, distance, shares


def _at_offsets(sets: KeySets, weights: Tensor, shares: Shares | None) -> Tensor:
    """Sum over the rows the weights on the keys at each of `LOCAL`, `[measure, batch, head, offset]`."""
    batch, heads = weights.shape[:2]
    keys, there = sets.local_keys
    values = weights.gather(3, keys.expand(batch, heads, -1, -1)).double()
    values = torch.where(sets.counted[:, None, :, None] & there, values, 0.0)
    sums = [values.sum(2)]
    if shares is not None:
        sums.append((values * shares.rows[..., None] * shares.keys[:, :, keys]).sum(2))
    return torch.stack(sums)
