"""Some inputs of a run as the corpus of a scan, for the model or for one with random weights."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from headscope.attention.model.model_source import ModelSource
from headscope.encoding.segment import Segment
from headscope.prepare.model_run import ModelRun
from headscope.scans.scan_declaration import ScanCorpus


@dataclass(frozen=True)
class DrawnInputs(ScanCorpus):
    """Inputs that were drawn of a run, or made for it.

    Attributes:
        run: whose model reads them.
        draw: returns the inputs; it is called whenever they are needed, so several scans may share what it returns.
        control: seed of the model with random weights that reads them in place of the run's.
        fitted: whether the size of batches follows from the longest of them, in place of the longest allowed.
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
        """Return about how many documents so many of the inputs make up."""
        return self.total * inputs // max(1, self.limit)

    @cached_property
    def total(self) -> int:
        """The number of documents that the inputs are of; every progress line needs it."""
        return len({segment.document for segment in self.draw()})

    @property
    def limit(self) -> int:
        """The number of inputs."""
        return len(self.draw())

    def _inputs(self) -> Iterator[Segment]:
        """Draw when the first input is read: a worker, which is handed its inputs, draws none."""
        yield from self.draw()
