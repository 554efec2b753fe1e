"""A sample of a run's inputs as the corpus of a scan, for the model or for one with random weights."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from headscope.attention.model.model_source import ModelSource
from headscope.encoding.segment import Segment
from headscope.prepare.model_run import ModelRun
from headscope.scans.scan_declaration import ScanCorpus


@dataclass(frozen=True)
class DrawnInputs(ScanCorpus):
    """Inputs that were drawn from a run or made for it.

    Attributes:
        run: run whose model reads the inputs.
        draw: function that returns the inputs; it is called whenever they are needed, so several scans may share its
            result.
        control: seed of the model with random weights that reads the inputs in place of the run's model.
        fitted: whether the batch size follows from the longest input, in place of the longest allowed.
    """

    run: ModelRun
    draw: Callable[[], Sequence[Segment]]
    control: int | None = None
    fitted: bool = False

    def source(self) -> ModelSource:
        """Return the stream of tiles over the inputs."""
        length = max(map(len, self.draw()), default=0) if self.fitted else None
        return self.run.over(self._inputs(), length=length, control=self.control)

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents that a number of inputs covers."""
        return self.total * inputs // max(1, self.limit)

    @cached_property
    def total(self) -> int:
        """The number of documents that the inputs come from; every progress line needs it."""
        return len({segment.document for segment in self.draw()})

    @property
    def limit(self) -> int:
        """The number of inputs."""
        return len(self.draw())

    def _inputs(self) -> Iterator[Segment]:
        """Draw the inputs when the first is read: a worker receives its inputs and draws none."""
        yield from self.draw()
