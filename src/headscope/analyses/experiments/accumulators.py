"""What is summed in an experiment: behaviours in the second copy alone, and retrieval from a needle."""

import torch
from torch import Tensor

from headscope.analyses.behaviours.accumulator import BehaviourAccumulator
from headscope.analyses.behaviours.catalogue import NAMES
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo

_RETRIEVAL = NAMES.index("retrieval")


class CopyAccumulator(BehaviourAccumulator):
    """Sum behaviours over the rows of a repeated stretch's second copy: an input's field `copy`."""

    def begin(self, batch: Batch | None) -> None:
        """Start a batch, and read where the copies lie."""
        super().begin(batch)
        self._places: dict[str, Tensor] = {}
        if batch is not None:
            names = ("needle", "copy")
            # Other inputs have no copy, and no row is counted.
            none = (0, 0)
            self._places = {
                name: torch.tensor([segment.fields.get(name, none) for segment in batch.segments])
                for name in names
            }

    def counted_rows(self, tile: AttentionTile) -> Tensor:
        """Return which of a tile's rows are tokens of the second copy, `[batch, row]` bool."""
        return self.within(tile.queries, "copy", shift=self._shift(tile.kind))[:, tile.rows]

    def within(self, tokens: SegmentInfo, name: str, *, shift: int = 0, last: int = 0) -> Tensor:
        """Return which tokens lie in a stretch of their input, `[batch, position]` bool.

        Args:
            tokens: along an axis.
            name: the field that says where it lies.
            shift: how many positions later these tokens stand.
            last: how many tokens at the stretch's end do not count.
        """
        places = self._places[name].to(tokens.ids.device) + shift
        at = tokens.positions
        return (at >= places[:, :1]) & (at < places[:, 1:] - last) & tokens.valid

    def _shift(self, kind: str) -> int:
        """A decoder behind an encoder reads the text behind a start token."""
        behind = any(part.kind == "encoder" for part in self.layout)
        return int(kind != "encoder" and behind)


class RetrievalAccumulator(CopyAccumulator):
    """Count how often a head's strongest key is, inside the needle, the token that comes next in its copy.

    The model reads the needle, other text, and the needle again. At each row of the copy but the last, the token that
    comes next is the one being written (Wu et al. 2024); before the copy's first token nothing says what is written.
    """

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows."""
        ids = tile.queries.ids
        rows = self.within(tile.queries, "copy", last=1)[:, tile.rows]
        following = torch.roll(ids, -1, dims=1)[:, tile.rows]  # where nothing follows no row is asked
        needle = self.within(tile.keys, "needle")
        right = (tile.keys.ids[:, None, :] == following[:, :, None]) & needle[:, None] & rows[:, :, None]
        visible = right & tile.visibility.visible
        occurs = visible.any(-1)
        strongest = torch.where(rows[:, None, :, None], tile.weights, 0.0).argmax(-1)
        hits = right.gather(2, strongest.transpose(1, 2)) & occurs[..., None]
        share = visible.sum(-1) / tile.visibility.counts.clamp(min=1)
        heads = tile.weights.shape[1]
        sums = share.new_zeros((len(ids), heads + 1, len(NAMES)), dtype=torch.float64)
        sums[:, :-1, _RETRIEVAL] = hits.sum(1).double()
        sums[:, -1, _RETRIEVAL] = torch.where(occurs, share.double(), 0.0).sum(1)
        number = torch.zeros((len(ids), len(NAMES)), dtype=torch.int64, device=ids.device)
        number[:, _RETRIEVAL] = occurs.sum(1)
        self.add_to_layer(tile, sums, number)
