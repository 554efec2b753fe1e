"""Inputs of a run's text for the sources of scores, read by the model or with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headscope.analyses.why.patching import Chosen, PatchSource
from headscope.analyses.why.source import PullSource
from headscope.encoding.shards import ShardedBatches, shards
from headscope.prepare.drawn_inputs import DrawnInputs

_SHARD_TOKENS = 1 << 12


@dataclass(frozen=True)
class PullText(DrawnInputs):
    """A part of a run's text, whose scores are decomposed.

    Attributes:
        chosen: returns the sources that are replaced; None to replace none.
        most: largest number of sources of a head on one side that are replaced.
    """

    chosen: Callable[[], Chosen] | None = None
    most: int = 0

    def source(self) -> PullSource:
        """Return the stream of tiles over the inputs."""
        inputs = self.draw()
        known = self.run.over(inputs, control=self.control)
        batches = ShardedBatches(shards(inputs, tokens=_SHARD_TOKENS), batch_size=1)
        model = known.model, known.anatomy, known.vocabulary, batches
        if self.chosen is None:
            return PullSource(*model)
        return PatchSource(*model, chosen=self.chosen, fitting=self.draw, most=self.most)
