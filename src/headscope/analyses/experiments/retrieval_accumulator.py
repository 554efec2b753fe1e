"""What is summed while a needle is written again: whether the strongest key is the token that comes next."""

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.experiments.copy_accumulator import CopyAccumulator
from headscope.attention.tile import AttentionTile
from headscope.attention.visibility import Visibility
from headscope.encoding.batching import Batch

_RETRIEVAL = NAMES.index("retrieval")


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """The rows of a tile at which it is known what is written next, and which keys are right there.

    Attributes:
        item: of the batch, `[asked]`.
        row: from the tile's first, `[asked]`.
        right: the keys inside the needle that are the same token, `[asked, key]` bool; some in every row.
        share: how many of the keys that a row sees are right, `[asked]` float64.
        number: of such rows of each segment, `[batch]` int64.
    """

    item: Tensor
    row: Tensor
    right: Tensor
    share: Tensor
    number: Tensor

    def hits(self, by_key: Tensor) -> Tensor:
        """Return at which rows the key of the largest number is right, `[asked, head]` bool; of equal ones the first.

        Args:
            by_key: `[asked, head, key]`.
        """
        return self.right.gather(1, by_key.argmax(-1))

    def over_rows(self, values: Tensor) -> Tensor:
        """Sum over the rows of each segment, `[batch, ...]` of the values' type.

        Args:
            values: `[asked, ...]`.
        """
        out = values.new_zeros((len(self.number), *values.shape[1:]))
        return out.index_add_(0, self.item, values)


class RetrievalAccumulator(CopyAccumulator):
    """Count how often a head's strongest key is, inside the needle, the token that comes next in its copy.

    The model reads the needle, other text, and the needle again. At each row of the copy but the last, the token that
    comes next is the one being written (Wu et al. 2024); before the copy's first token nothing says what is written.
    By what is written the strongest key is the one of which the head writes most: that of the largest `a_ij |f_j|`.
    """

    def begin(self, batch: Batch | None) -> None:
        """Start a batch."""
        super().begin(batch)
        # Masks are held, so that their ids stay their own.
        self._rows_asked: dict[tuple[str, int, int], tuple[Visibility, AskedRows]] = {}

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows; which are asked, and which keys are right, is looked up once a batch."""
        asked = self._asked_rows(tile)
        weights = tile.weights[asked.item, :, asked.row].double()
        hits = asked.over_rows(asked.hits(weights).double())
        even = asked.over_rows(asked.share)
        sums = _as_retrieval(torch.cat([hits, even[:, None]], dim=1))
        self.add_to_layer(tile, sums, _as_retrieval(asked.number))
        if tile.written is None:
            return
        # A padded key may be worth anything, and has no weight.
        lengths = tile.written.lengths
        lengths = lengths[asked.item] if lengths.ndim == 3 else lengths[asked.item, :, asked.row]
        written = weights * torch.where(tile.keys.valid[asked.item, None], lengths.double(), 0.0)
        some = (written > 0).any(-1)
        self.add_written(
            tile,
            _as_retrieval(asked.over_rows((asked.hits(written) & some).double())),
            _as_retrieval(asked.over_rows(some.long())),
            asked.over_rows((~some).long()),
        )

    def _asked_rows(self, tile: AttentionTile) -> AskedRows:
        place = (tile.kind, tile.start, id(tile.visibility))
        if place not in self._rows_asked:
            self._rows_asked[place] = (tile.visibility, self._find_rows(tile))
        return self._rows_asked[place][1]

    def _find_rows(self, tile: AttentionTile) -> AskedRows:
        """Find the rows of the copy, but for its last, that see the token that comes next inside the needle."""
        ids = tile.queries.ids
        item, row = self.within(tile.queries, "copy", last=1)[:, tile.rows].nonzero(as_tuple=True)
        following = torch.roll(ids, -1, dims=1)[:, tile.rows]  # where nothing follows no row is asked
        right = (tile.keys.ids[item] == following[item, row][:, None]) & tile.visibility.visible[item, row]
        right &= self.within(tile.keys, "needle")[item]
        occurs = right.any(-1)
        item, row, right = item[occurs], row[occurs], right[occurs]
        counts = tile.visibility.counts[item, row].clamp(min=1)
        return AskedRows(
            item=item,
            row=row,
            right=right,
            share=right.sum(-1) / counts.double(),
            number=torch.bincount(item, minlength=len(ids)),
        )


def _as_retrieval(values: Tensor) -> Tensor:
    """Put values where those of retrieval stand among those of all behaviors, `[..., NAMES]`; the others are 0."""
    out = values.new_zeros((*values.shape, len(NAMES)))
    out[..., _RETRIEVAL] = values
    return out
