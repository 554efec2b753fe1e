"""Inputs beside those of the text: a drawn sample as the corpus of a scan, and a cache for several readings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from headscope.attention.model.model_source import TileSource
from headscope.encoding.segment import Segment
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import ScanCorpus


@dataclass(frozen=True)
class DrawnInputs(ScanCorpus):
    """Inputs that were drawn from a run or made for it.

    Attributes:
        run: run whose model reads the inputs.
        draw: function that returns the inputs; it is called once, when they are first needed.
        control: seed of the model with random weights that reads the inputs in place of the run's model.
        fitted: whether the batch size follows from the longest input, in place of the longest allowed.
        shared: name of the pass if several stages read the same inputs; see `ScanCorpus`.
    """

    run: ModelRun
    draw: Callable[[], Sequence[Segment]]
    control: int | None = None
    fitted: bool = False
    shared: str | None = None

    @cached_property
    def inputs(self) -> Sequence[Segment]:
        """The inputs, drawn when the first is needed."""
        return self.draw()

    def source(self) -> TileSource:
        """Return the stream of tiles over the inputs."""
        length = max(map(len, self.inputs), default=0) if self.fitted else None
        return self.run.over(self._inputs(), length=length, control=self.control)

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents that a number of inputs covers."""
        return self.total * inputs // max(1, self.limit)

    @cached_property
    def total(self) -> int:
        """The number of documents that the inputs come from; every progress line needs it."""
        return len({segment.document for segment in self.inputs})

    @property
    def limit(self) -> int:
        """The number of inputs."""
        return len(self.inputs)

    def _inputs(self) -> Iterator[Segment]:
        """Draw the inputs when the first is read: a worker receives its inputs and draws none."""
        yield from self.inputs


def control_text(run: ModelRun, *, control: int) -> DrawnInputs:
    """Return a few inputs of the text read with random weights, in one pass for all stages.

    Args:
        run: run with the text.
        control: seed of the random weights.
    """
    return DrawnInputs(run, lambda: run.few_inputs, control=control, shared=f"control {control}")


MOST_TOKENS = 1 << 19
"""Maximum number of tokens in the cache, about 60 MB with words and trees; a longer corpus is read again."""


class SegmentCache:
    """Keeps the segments that pass through it, for further readings.

    Args:
        most: maximum number of tokens; a longer corpus is not kept at all.
    """

    def __init__(self, *, most: int = MOST_TOKENS) -> None:
        self.most = most
        self._segments: list[Segment] | None = None

    def watch(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Yield the segments unchanged, and keep them once all have passed."""
        kept: list[Segment] | None = []
        tokens = 0
        for segment in segments:
            tokens += len(segment)
            if tokens > self.most:
                kept = None
            elif kept is not None:
                kept.append(segment)
            yield segment
        self._segments = kept

    def again(self, make: Callable[[], Iterable[Segment]]) -> Iterator[Segment]:
        """Yield the kept segments; if there are none, yield those that `make` returns."""
        yield from make() if self._segments is None else self._segments
