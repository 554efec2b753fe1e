"""Selection of the rows of a tile that may enter a sample: those with the smallest hashes of each cell.

On the host, only eligible rows are returned. On a device, a fixed number of rows is returned and a mask marks the
eligible ones, because reading their number would synchronize with the device.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.head_id import KINDS, SECOND
from headscope.encoding.segment import sent
from headscope.statistics.sums.hash_sample import SAMPLED, smallest_hashes

# The increments of two sequences: odd, with as many ones as zeros.
_ROWS, _HEADS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_LARGEST = torch.iinfo(torch.int64).max
_SIGN = torch.iinfo(torch.int64).min
_MULTIPLIERS = tuple(int(np.uint64(each).astype(np.int64)) for each in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def segment_key(document: str, segment: int, *, seed: int) -> np.uint64:
    """Return the key from which all hashes of a segment are derived."""
    digest = blake2b(f"{seed}/{segment}/{document}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def segment_keys(segments: Iterable[tuple[str, int]], *, seed: int) -> NDArray[np.uint64]:
    """Return the key of each segment, given by its document and index, `[segment]`."""
    return np.array([segment_key(*name, seed=seed) for name in segments], dtype=np.uint64)


@lru_cache(maxsize=8)
def keys_of_batch(documents: tuple[str, ...], indices: tuple[int, ...], *, seed: int) -> NDArray[np.uint64]:
    """Return the key of each segment of a batch, `[segment]`; cached because every layer of the batch needs it."""
    keys = segment_keys(zip(documents, indices, strict=True), seed=seed)
    keys.flags.writeable = False
    return keys


def token_hashes(keys: NDArray[np.uint64], tokens: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of each token, `[segment, token]`, one for all heads: the hash of its row in the first head.

    Args:
        keys: keys of the segments, `[segment]`.
        tokens: each token's position in its segment, `[segment, token]`.
    """
    return row_hashes(keys, tokens, kind="encoder", layer=0, heads=1)[:, 0]


def row_hashes(
    keys: NDArray[np.uint64], rows: NDArray[np.int64], *, kind: str, layer: int, heads: int
) -> NDArray[np.uint64]:
    """Return the hash of each row of a layer's heads, `[segment, head, row]`.

    Args:
        keys: keys of the segments, `[segment]`.
        rows: each row's position in its segment, `[segment, row]`.
        kind, layer: kind and layer of the heads.
        heads: number of heads.
    """
    return _mixed(row_keys(keys, rows)[:, None] + head_keys(kind, layer, heads)[:, None])


def row_keys(keys: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the part of each row's hash that all heads share, `[segment, row]`."""
    return _mixed(keys[:, None] + (rows.astype(np.uint64) + np.uint64(1)) * _ROWS)


def head_keys(kind: str, layer: int, heads: int) -> NDArray[np.uint64]:
    """Return the number that is added to the row keys for each head of a layer, `[head]`.

    Of two models that are compared, both have the same numbers, so that the same rows are drawn.
    """
    first = np.uint64(KINDS.index(kind.removeprefix(SECOND)) << 40 | layer << 20)
    return (first + np.arange(heads, dtype=np.uint64) + np.uint64(1)) * _HEADS


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply SplitMix64's finalizer."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """Selected rows of a tile, `[row]` each, on the tile's device.

    Attributes:
        item, head, at: index in the batch, head, and index among the tile's rows, int64.
        cell: cell of the sample, int64.
        hash: the 64 bits of the hash, as int64.
        kept: mask of the rows that are eligible.
    """

    item: Tensor
    head: Tensor
    at: Tensor
    cell: Tensor
    hash: Tensor
    kept: Tensor


def waits(device: torch.device) -> bool:
    """Return True if reading the number of rows from this device would synchronize with it."""
    return device.type != "cpu"


def selected_on_host(
    rows: NDArray[np.bool_],
    cell: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    least: NDArray[np.uint64],
    *,
    first: int,
    most: int,
) -> SelectedRows:
    """Select rows on the host.

    Args:
        rows: mask of the rows to sample from, `[batch, head, row]`.
        cell: cell of each row, counted from the layer's first cell, of the shape of `rows`.
        hashes: hash of each row, of the shape of `rows`.
        least: bound below which a row may be kept, `[cell]`.
        first: the layer's first cell.
        most: maximum number of rows per cell.
    """
    item, head, at = np.nonzero(rows & (hashes < least[cell]))
    candidates = np.zeros(len(item), dtype=[*SAMPLED])
    candidates["cell"] = cell[item, head, at] + first
    candidates["hash"] = hashes[item, head, at]
    chosen = smallest_hashes(candidates, most=most)
    return SelectedRows(
        item=torch.from_numpy(item[chosen]),
        head=torch.from_numpy(head[chosen]),
        at=torch.from_numpy(at[chosen]),
        cell=torch.from_numpy(candidates["cell"][chosen].astype(np.int64)),
        hash=torch.from_numpy(candidates["hash"][chosen].view(np.int64)),
        kept=torch.ones(len(chosen), dtype=torch.bool),
    )


def selected_on_device(
    rows: Tensor, cell: Tensor, hashes: Tensor, least: Tensor, *, first: int, most: int, each_head: int
) -> SelectedRows:
    """Select rows on their device: the maximum possible number per head, with a mask of the eligible ones.

    Args:
        rows, cell, first, most: as for `selected_on_host`.
        hashes, least: as for `selected_on_host`, mapped to signed order (`in_signed_order`).
        each_head: number of cells per head.
    """
    heads, height = rows.shape[1:]
    eligible, cell_of, hash_of = (
        each.transpose(0, 1).reshape(heads, -1) for each in (rows & (hashes < least[cell]), cell, hashes)
    )
    hash_of = hash_of.where(eligible, _LARGEST)
    number = min(eligible.shape[1], most * each_head)
    if each_head == 1:
        index = hash_of.topk(number, dim=1, largest=False).indices
        kept = eligible.gather(1, index)
    else:
        order = hash_of.argsort(dim=1)
        order = order.gather(1, cell_of.gather(1, order).argsort(dim=1, stable=True))
        in_order = cell_of.gather(1, order)
        position = torch.arange(order.shape[1], device=rows.device).expand(order.shape)
        begins = torch.ones_like(in_order, dtype=torch.bool)
        begins[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
        rank = position - position.where(begins, 0).cummax(dim=1).values
        chosen = (rank < most) & eligible.gather(1, order)
        kept, at = chosen.to(torch.uint8).topk(number, dim=1)
        kept, index = kept.bool(), order.gather(1, at)
    head = torch.arange(heads, device=rows.device)[:, None].expand(index.shape)
    return SelectedRows(
        item=(index // height).flatten(),
        head=head.flatten(),
        at=(index % height).flatten(),
        cell=(cell_of.gather(1, index) + first).flatten(),
        hash=(hash_of.gather(1, index) ^ _SIGN).flatten(),
        kept=kept.flatten(),
    )


def in_signed_order(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Map unsigned numbers to signed ones of the same order: torch cannot compare unsigned 64-bit numbers."""
    return hashes.view(np.int64) ^ np.int64(_SIGN)


def hashes_on_device(
    keys: NDArray[np.uint64], positions: NDArray[np.int64], *, device: torch.device, kind: str, layer: int, heads: int
) -> Tensor:
    """Compute the hashes of `row_hashes` on a device, `[segment, head, row]` in signed order."""
    by_row = sent(torch.from_numpy(row_keys(keys, positions).view(np.int64)), device)
    by_head = sent(torch.from_numpy(head_keys(kind, layer, heads).view(np.int64)), device)
    values = by_row[:, None] + by_head[:, None]
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        values = (values ^ _shifted(values, shift)) * multiplier
    return values ^ _shifted(values, 31) ^ _SIGN


def _shifted(values: Tensor, by: int) -> Tensor:
    """Shift 64 bits to the right, filling with 0 from the left."""
    return (values >> by) & ((1 << (64 - by)) - 1)
