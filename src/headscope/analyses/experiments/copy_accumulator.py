"""Accumulate behaviors over repeated random tokens, in the second copy only."""

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
