"""Behaviors over random tokens repeated, in the second copy alone."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviors.sums.norm_accumulator import NormBehaviorAccumulator
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.sending import sent


class CopyAccumulator(NormBehaviorAccumulator):
    """Sum behaviors over the rows of a repeated stretch's second copy: an input's field `copy`."""

    def begin(self, batch: Batch | None) -> None:
        """Start a batch, and read where the copies lie."""
        super().begin(batch)
        segments = [] if batch is None else batch.segments
        none = (0, 0)  # other inputs have no copy, so none of their rows count
        self._stretches = {
            name: torch.tensor([segment.fields.get(name, none) for segment in segments]) for name in ("needle", "copy")
        }

    def counted_rows(self, tile: AttentionTile) -> NDArray[np.bool_]:
        """Return which of a tile's rows are tokens of the second copy, `[batch, row]`."""
        return self.within(tile.queries.on_host, "copy", shift=self._shift(tile.kind))[:, tile.rows].numpy()

    def within(self, tokens: SegmentInfo, name: str, *, shift: int = 0, last: int = 0) -> Tensor:
        """Return which tokens lie in a stretch of their input, `[batch, position]` bool.

        Args:
            tokens: along an axis.
            name: the field that says where it lies.
            shift: how many positions later these tokens stand.
            last: how many tokens at the stretch's end do not count.
        """
        stretches = sent(self._stretches[name], tokens.ids.device) + shift
        at = tokens.positions
        return (at >= stretches[:, :1]) & (at < stretches[:, 1:] - last) & tokens.valid

    def _shift(self, kind: str) -> int:
        """Return 1 for a decoder behind an encoder, which reads the text behind a start token, else 0."""
        behind = any(part.kind == "encoder" for part in self.layout)
        return int(kind != "encoder" and behind)
