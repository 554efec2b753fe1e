"""Inputs of a run's text for the sources of scores, read by the model or with random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headscope.analyses.why.patching import Chosen, PatchSource
from headscope.analyses.why.source import PullSource
from headscope.encoding.segment import Segment
from headscope.encoding.shards import ShardedBatches, shards
from headscope.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import ScanCorpus

_SHARD_TOKENS = 1 << 12


@dataclass(frozen=True)
class PullText(ScanCorpus):
    """A part of a run's text, whose scores are decomposed.

    Attributes:
        run: run with the text.
        draw: returns the inputs.
        control: seed of the model with random weights that reads them; None for the run's model.
        chosen: returns the sources that are replaced; None to replace none.
        most: largest number of sources of a head on one side that are replaced.
    """

    run: ModelRun
    draw: Callable[[], Sequence[Segment]]
    control: int | None = None
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

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents that a number of inputs covers."""
        return self.total * inputs // max(1, self.limit)

    @property
    def total(self) -> int:
        """The number of documents of the inputs."""
        return len({segment.document for segment in self.draw()})

    @property
    def limit(self) -> int:
        """The number of inputs."""
        return len(self.draw())
