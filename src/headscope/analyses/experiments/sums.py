"""Accumulators of experiments: behaviors over the second copy of random tokens, and retrieval of a needle's tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.sums import NormBehaviorAccumulator
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo, sent

_RETRIEVAL = NAMES.index("retrieval")


class CopyAccumulator(NormBehaviorAccumulator):
    """Sum behaviors over the rows of a repeated stretch's second copy: an input's field `copy`."""

    def begin(self, batch: Batch | None) -> None:
        """Start a batch, and read the positions of the copies."""
        super().begin(batch)
        segments = [] if batch is None else batch.segments
        none = (0, 0)  # other inputs have no copy, so that their rows do not count
        self._stretches = {
            name: torch.tensor([segment.fields.get(name, none) for segment in segments]) for name in ("needle", "copy")
        }

    def counted_rows(self, tile: AttentionTile) -> NDArray[np.bool_]:
        """Return a mask of the tile's rows that are tokens of the second copy, `[batch, row]`."""
        return self.within(tile.queries.on_host, "copy", shift=self._shift(tile.kind))[:, tile.rows].numpy()

    def within(self, tokens: SegmentInfo, name: str, *, shift: int = 0, last: int = 0) -> Tensor:
        """Return a mask of the tokens in a stretch of their input, `[batch, position]` bool.

        Args:
            tokens: tokens along an axis.
            name: field with the position of the stretch.
            shift: number of positions by which these tokens are shifted to the right.
            last: number of tokens at the end of the stretch that do not count.
        """
        stretches = sent(self._stretches[name], tokens.ids.device) + shift
        at = tokens.positions
        return (at >= stretches[:, :1]) & (at < stretches[:, 1:] - last) & tokens.valid

    def _shift(self, kind: str) -> int:
        """Return 1 for a decoder with an encoder, which reads the text after a start token, else 0."""
        behind = any(part.kind == "encoder" for part in self.layout)
        return int(kind != "encoder" and behind)


@dataclass(frozen=True, kw_only=True)
class CopyRows:
    """The rows of a tile in the needle's copy, and the right keys of these rows.

    Attributes:
        item: index of the row's input in the batch, `[copy_row]`.
        row: row, counted from the tile's first, `[copy_row]`.
        right: mask of the keys inside the needle that are the token that comes next, `[copy_row, key]` bool; every row
            has at least one.
        share: share of right keys among the keys that a row sees, `[copy_row]` float64.
        number: number of such rows of each segment, `[batch]` int64.
    """

    item: Tensor
    row: Tensor
    right: Tensor
    share: Tensor
    number: Tensor

    def hits(self, by_key: Tensor) -> Tensor:
        """Return True where the key with the largest number is right, `[copy_row, head]` bool; the first key of ties.

        Args:
            by_key: `[copy_row, head, key]`.
        """
        return self.right.gather(1, by_key.argmax(-1))

    def over_rows(self, values: Tensor) -> Tensor:
        """Sum over the rows of each segment, `[batch, ...]` of the values' type.

        Args:
            values: `[copy_row, ...]`.
        """
        out = values.new_zeros((len(self.number), *values.shape[1:]))
        return out.index_add_(0, self.item, values)


class RetrievalAccumulator(CopyAccumulator):
    """Count how often a head's strongest key is the token inside the needle that comes next in its copy.

    The model reads the needle, other text, and the needle again. At each row of the copy but the last, the token that
    comes next is the one being written (Wu et al. 2024); before the copy's first token the next token is not
    determined. For norm-weighted attention the strongest key is the one with the largest `a_ij |f_j|`.
    """

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows; the rows that count, and the right keys, are found once per batch."""
        copy_rows = self.once_a_mask(self._find_rows, tile)
        weights = tile.weights[copy_rows.item, :, copy_rows.row].double()
        hits = copy_rows.over_rows(copy_rows.hits(weights).double())
        uniform = copy_rows.over_rows(copy_rows.share)
        sums = _as_retrieval(torch.cat([hits, uniform[:, None]], dim=1))
        self.segment_sums.add(tile, weight=sums, rows=_as_retrieval(copy_rows.number))
        if tile.written is None:
            return
        # The value of a padded key may be anything; its weight is 0.
        lengths = tile.written.lengths
        lengths = lengths[copy_rows.item] if lengths.ndim == 3 else lengths[copy_rows.item, :, copy_rows.row]
        written = weights * torch.where(tile.keys.valid[copy_rows.item, None], lengths.double(), 0.0)
        some = (written > 0).any(-1)
        self.segment_sums.add(
            tile,
            norm=_as_retrieval(copy_rows.over_rows((copy_rows.hits(written) & some).double())),
            norm_rows=_as_retrieval(copy_rows.over_rows(some.long())),
            left_out=copy_rows.over_rows((~some).long()),
        )

    def _find_rows(self, tile: AttentionTile) -> CopyRows:
        """Find the rows of the copy, except its last, that see the token that comes next inside the needle."""
        ids = tile.queries.ids
        item, row = self.within(tile.queries, "copy", last=1)[:, tile.rows].nonzero(as_tuple=True)
        following = torch.roll(ids, -1, dims=1)[:, tile.rows]  # rows without a next token do not count
        right = (tile.keys.ids[item] == following[item, row][:, None]) & tile.visibility.visible[item, row]
        right &= self.within(tile.keys, "needle")[item]
        occurs = right.any(-1)
        item, row, right = item[occurs], row[occurs], right[occurs]
        share = right.sum(-1) / tile.visibility.counts[item, row].clamp(min=1).double()
        return CopyRows(item=item, row=row, right=right, share=share, number=torch.bincount(item, minlength=len(ids)))


def _as_retrieval(values: Tensor) -> Tensor:
    """Place values in the column of retrieval among all behaviors, `[..., NAMES]`; other columns are 0."""
    out = values.new_zeros((*values.shape, len(NAMES)))
    out[..., _RETRIEVAL] = values
    return out
