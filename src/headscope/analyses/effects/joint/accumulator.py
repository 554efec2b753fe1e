"""Sums of the added loss when several heads are removed at once, by document."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed

_LOSS = MEASURES.index("loss")


class JointAccumulator(Accumulator):
    """Sums the added losses of sets of heads (the mean over each input's targets) by group of documents.

    Args:
        layout: kinds of attention and their sizes.
        number: number of sets.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})
    parameters: ClassVar[tuple[str, ...]] = ("number",)

    def __init__(self, layout: Sequence[KindLayout] | None = None, *, number: int) -> None:
        self.number = number
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sums of added losses, and the numbers of inputs."""
        return {"sets": summed(self.number), "n_inputs": counted(1)}

    def update(self, tile: AttentionTile) -> None:
        """Add the losses of a batch once, although they come with every layer."""
        first = (tile.kind, tile.layer) == (self.layout[0].kind, 0)
        if first and tile.start == 0 and tile.effects is not None:
            assert tile.effects.sets is not None
            self.add(tile, sets=tile.effects.sets[:, :, 0, _LOSS], n_inputs=1)

    def compute(self) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return sums by document (or group), nats, `[document, set]`, and its number of inputs, `[document]`."""
        sums = self.sums.stacked()
        return sums["sets"], sums["n_inputs"][:, 0]
