"""Which rows of a tile may enter a sample: those with the smallest hashes of each cell.

On the host, as many as there are. On a device always the same number, of which some do not count: to learn how many
there are would wait for it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encoding.sending import sent
from headscope.statistics.sums.hash_sample import SAMPLED, smallest_hashes
from headscope.statistics.sums.row_hashes import head_keys, row_keys

_LARGEST = torch.iinfo(torch.int64).max
_SIGN = torch.iinfo(torch.int64).min
_MULTIPLIERS = tuple(int(np.uint64(each).astype(np.int64)) for each in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """Rows of a tile, `[row]` each, where the tile is.

    Attributes:
        item, head, at: index in the batch, head, and index among the tile's rows, int64.
        cell: of the sample, int64.
        hash: its 64 bits, as int64.
        kept: which of them count.
    """

    item: Tensor
    head: Tensor
    at: Tensor
    cell: Tensor
    hash: Tensor
    kept: Tensor


def waits(device: torch.device) -> bool:
    """Whether to ask a device how many rows there are waits for it."""
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
        rows: which rows are drawn from, `[batch, head, row]`.
        cell: of each row, counted from the layer's first, as `rows`.
        hashes: of each row, as `rows`.
        least: bound below which a row may be kept, `[cell]`.
        first: the layer's first cell.
        most: rows of a cell.
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
    """Select rows where they are: of every head as many as there can be, whether they count or not.

    Args:
        rows, cell, first, most: as for `selected_on_host`.
        hashes, least: the same in the order of signed numbers (`in_signed_order`).
        each_head: cells of a head.
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
    """Return signed numbers in the order of unsigned ones: torch compares no others."""
    return hashes.view(np.int64) ^ np.int64(_SIGN)


def hashes_on_device(
    keys: NDArray[np.uint64], positions: NDArray[np.int64], *, device: torch.device, kind: str, layer: int, heads: int
) -> Tensor:
    """Return what `row_hashes` does, `[segment, head, row]` in signed order, computed on a device."""
    by_row = sent(torch.from_numpy(row_keys(keys, positions).view(np.int64)), device)
    by_head = sent(torch.from_numpy(head_keys(kind, layer, heads).view(np.int64)), device)
    values = by_row[:, None] + by_head[:, None]
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        values = (values ^ _shifted(values, shift)) * multiplier
    return values ^ _shifted(values, 31) ^ _SIGN


def _shifted(values: Tensor, by: int) -> Tensor:
    """Shift 64 bits to the right; what comes in on the left is 0."""
    return (values >> by) & ((1 << (64 - by)) - 1)
