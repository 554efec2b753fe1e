"""Sums over a tile's rows of attention to each behavior's keys, by weight and norm-weighted, in one pass.

Norm-weighted attention of row i to key j is the weight times a number of the key, divided by the row's sum: the same
sums over rows, diagonals and pairs give both measures. Where a gate makes this number depend on the row, too, the sums
are computed twice.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviors.catalog import BEHAVIORS, NAMES
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import sent
from headscope.encoding.vocabulary import KeyClass

LOCAL = (-3, -2, -1, 1, 2, 3)
COLUMN = {name: NAMES.index(name) for name in NAMES}
CLASSES = {COLUMN[behavior.name]: int(behavior.delimiter) for behavior in BEHAVIORS.values() if behavior.delimiter}
# The catalog lists the behaviors that are defined by a class one after another.
CLASS_COLUMNS = slice(min(CLASSES), max(CLASSES) + 1)
# Number of weights gathered at a time: a text that repeats one token has a pair for every weight.
_GATHERED = 1 << 22


@dataclass(frozen=True)
class Shares:
    """Factors that turn weights into norm-weighted attention: `a_ij` times a factor of row i and one of key j.

    Attributes:
        rows: reciprocal of the row's sum `sum_j a_ij |f_j|`, `[batch, head, row]` float64; 0 where the sum is 0.
        keys: `|f_j|`, `[batch, head, key]` float64.
    """

    rows: Tensor
    keys: Tensor


@dataclass(frozen=True)
class Pairs:
    """Pairs of a row and a key, in ascending order: `item` of the batch, `row` from the tile's first, `key`."""

    item: Tensor
    row: Tensor
    key: Tensor

    def sums(self, weights: Tensor, shares: Shares | None = None) -> Tensor:
        """Sum weights over the pairs of each segment, `[1, batch, head]` float64; with shares, they come second.

        Args:
            weights: `[batch, head, row, key]`.
            shares: factors to sum norm-weighted attention as well; the result is then `[2, batch, head]`.
        """
        out = weights.new_zeros((1 if shares is None else 2, *weights.shape[:2]), dtype=torch.float64)
        step = max(1, _GATHERED // weights.shape[1])
        for first in range(0, len(self.item), step):
            item, row, key = (indices[first : first + step] for indices in (self.item, self.row, self.key))
            at_pairs = weights[item, :, row, key].double()
            out[0].index_add_(0, item, at_pairs)
            if shares is not None:
                out[1].index_add_(0, item, at_pairs * shares.rows[item, :, row] * shares.keys[item, :, key])
        return out

    def number(self, visible: Tensor) -> Tensor:
        """Count the pairs of each row whose key is visible, `[batch, row]` float64."""
        out = torch.zeros(visible.shape[:2], dtype=torch.float64, device=visible.device)
        visible_pairs = visible[self.item, self.row, self.key].double()
        return out.index_put_((self.item, self.row), visible_pairs, accumulate=True)


@dataclass(frozen=True, kw_only=True)
class UniformBaseline:
    """Uniform attention over the visible keys in the counted rows.

    Attributes:
        sums: sums over the rows of its weight on each behavior's keys, `[batch, NAMES]` float64.
        occurs: mask of the rows in which each behavior can occur, `[batch, row, NAMES]` bool.
        number: number of these rows, `[batch, NAMES]` int64.
    """

    sums: Tensor
    occurs: Tensor
    number: Tensor


class KeySets:
    """The keys of every behavior for some rows of one kind of attention.

    Args:
        tile: tile of any layer; only its tokens and the positions of its rows are read.
        counted: mask of the rows that count, `[batch, row]` bool, on the host.
        delimiters: `Delimiter` of each token id, `[id]`.
        same_ids: True if equal ids are equal tokens; else `duplicate` and `induction` cannot occur.
    """

    def __init__(self, tile: AttentionTile, counted: NDArray[np.bool_], delimiters: Tensor, *, same_ids: bool) -> None:
        keys = tile.keys
        self.square, self.start = tile.square, tile.start
        self.counted = sent(torch.from_numpy(counted), keys.ids.device)
        self.valid = keys.valid
        self.first = keys.valid.long().argmax(1)  # padding may be on the left
        known = keys.ids < len(delimiters)
        codes = delimiters[torch.where(known, keys.ids, 0)] * known * keys.valid
        self.classes = torch.stack([codes == code for code in CLASSES.values()], dim=-1).double()
        self.keys, self.rows = keys.valid.shape[1], counted.shape[1]
        self.pairs: dict[str, Pairs] = {}
        if self.square and same_ids:
            self._find_copies(tile, counted)

    def _find_copies(self, tile: AttentionTile, counted: NDArray[np.bool_]) -> None:
        """Find earlier keys with the row's id, and the keys right after these, before the row itself.

        This runs on the host, which knows the tokens: on the device the number of pairs would force a synchronization.
        """
        queries, device = tile.queries.on_host, tile.keys.ids.device
        ids, valid, classes = (each.numpy() for each in (queries.ids, queries.valid, queries.classes))
        # Where the tokenizer has no cls token, the first token has its class; no key precedes it.
        counted = counted & ~np.isin(classes[:, tile.rows], (KeyClass.CLS, KeyClass.SEP))
        positions = np.arange(self.keys)
        earlier = positions[None, :] < positions[tile.rows][:, None]
        same = (ids[:, tile.rows, None] == ids[:, None, :]) & earlier & valid[:, None] & counted[:, :, None]
        item, row, key = np.nonzero(same)
        behind = key + 1 < row + self.start
        indices = {"duplicate": (item, row, key), "induction": (item[behind], row[behind], key[behind] + 1)}
        self.pairs = {name: Pairs(*sent(torch.from_numpy(np.stack(pairs)), device)) for name, pairs in indices.items()}

    def uniform_baseline(self, tile: AttentionTile) -> UniformBaseline:
        """Compute the baseline of uniform attention, and the rows in which each behavior can occur."""
        visible = tile.visibility.visible
        number = torch.zeros((*visible.shape[:2], len(NAMES)), dtype=torch.float64, device=visible.device)
        first = self.first[:, None, None].expand(-1, self.rows, 1)
        number[..., COLUMN["first"]] = visible.gather(2, first)[..., 0].double()
        number[..., CLASS_COLUMNS] = visible.double() @ self.classes
        occurs = number > 0
        if self.square:
            keys, within = self.local_keys
            visible_local = visible.gather(2, keys.expand(len(visible), -1, -1)) & within
            number[..., COLUMN["local"]] = visible_local.sum(-1).double()
            number[..., COLUMN["previous"]] = visible_local[..., LOCAL.index(-1)].double()
            for name, pairs in self.pairs.items():
                number[..., COLUMN[name]] = pairs.number(visible)
            number[..., COLUMN["distance"]] = (visible * self.distances).sum(-1)
            occurs = number > 0
            occurs[..., COLUMN["distance"]] = True
        occurs &= self.counted[..., None]
        share = number / tile.visibility.counts.clamp(min=1)[..., None]
        return UniformBaseline(sums=torch.where(occurs, share, 0.0).sum(1), occurs=occurs, number=occurs.sum(1))

    @cached_property
    def distances(self) -> Tensor:
        """The distance in tokens from each row to each key, `[row, key]` float64."""
        at = torch.arange(self.keys, device=self.counted.device, dtype=torch.float64)
        return (at[None, :] - at[self.start : self.start + self.rows, None]).abs()

    @cached_property
    def local_keys(self) -> tuple[Tensor, Tensor]:
        """The key of each row at each offset in `LOCAL`, and a mask of the keys within the input, `[row, offset]`."""
        device = self.counted.device
        at = torch.arange(self.start, self.start + self.rows, device=device)[:, None]
        keys = at + sent(torch.tensor(LOCAL), device)
        within = keys.clamp(0, self.keys - 1)
        return within, keys == within


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
    out[..., CLASS_COLUMNS] = by_key @ sets.classes
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
