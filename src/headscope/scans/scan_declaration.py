"""What a stage sums up, declared: a corpus, and the accumulators that its attention is fed to."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from headscope.attention.model.model_source import TileSource
from headscope.declarations.run_options import RunOptions
from headscope.statistics.sums.accumulator import Accumulator

TRAINED = "trained"
"""The name of the scan with the trained model, which most stages have alone."""

Sums = TypeVar("Sums", bound=Accumulator)


class ScanCorpus(ABC):
    """What a scan reads, and by which model. Nothing is read and no model is made before `source` is called."""

    @abstractmethod
    def source(self) -> TileSource:
        """Return the stream of tiles, from the start of the corpus."""

    @abstractmethod
    def documents_read(self, inputs: int) -> int:
        """Return about how many documents so many inputs make up, for the progress line."""

    @property
    def total(self) -> int | None:
        """The number of documents in the corpus; None where it is not known."""
        return None

    @property
    def limit(self) -> int | None:
        """The largest number of inputs; None where there is no limit."""
        return None


@runtime_checkable
class ReadableRun(Protocol):
    """A run whose text can be read."""

    options: RunOptions

    @property
    def total(self) -> int | None:
        """The number of documents in the text; None where it is not known."""

    def done(self, segments: int) -> int:
        """Return about how many documents so many inputs make up."""

    def source(self) -> TileSource:
        """Return the stream of tiles over the text."""


class TextOfRun(ScanCorpus):
    """The text of a run, whichever model reads it.

    Attributes:
        run: whose text it is.
    """

    run: ReadableRun

    def documents_read(self, inputs: int) -> int:
        """Return about how many documents so many inputs make up."""
        return self.run.done(inputs)

    @property
    def total(self) -> int | None:
        """The number of documents in the text; None where it is not known."""
        return self.run.total

    @property
    def limit(self) -> int | None:
        """The largest number of inputs."""
        return self.run.options.max_inputs


@dataclass(frozen=True)
class RunText(TextOfRun):
    """The text of a run, read by the trained model: one pass over it serves all stages that have a scan of it."""

    run: ReadableRun

    def source(self) -> TileSource:
        """Return the stream of tiles over the text."""
        return self.run.source()


@dataclass(frozen=True)
class Scan:
    """One pass of a model over a corpus, and what it sums up.

    Whoever runs it decides where: in the pass that other stages share, shard by shard with a checkpoint, or on the
    workers of a cluster. The sums are the same to the digit.

    Attributes:
        corpus: what is read.
        accumulators: filled in place when the scan is run.
        name: of the scan within its stage, in letters, digits and `-`.
        label: what a progress line says of it; the name of the stage when empty.
        local: whether it is run where the tables are computed, since it needs what earlier stages found: no worker
            of a cluster and no part of a run has that.
    """

    corpus: ScanCorpus
    accumulators: Sequence[Accumulator]
    name: str = TRAINED
    label: str = field(default="", kw_only=True)
    local: bool = field(default=False, kw_only=True)


class ScanSums(dict[str, Sequence[Accumulator]]):
    """The filled accumulators of a stage's scans, by the name of the scan."""

    def of(self, kind: type[Sums], scan: str = TRAINED) -> Sums:
        """Return the accumulator of a class.

        Args:
            kind: the class; a subclass of it will do.
            scan: name of the scan.

        Raises:
            KeyError: the stage has no such scan, or the scan no such accumulator.
        """
        for accumulator in self[scan]:
            if isinstance(accumulator, kind):
                return accumulator
        raise KeyError(f"the scan {scan} sums nothing up in a {kind.__name__}")
