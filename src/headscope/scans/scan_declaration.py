"""The declaration of a stage's sums: a corpus, accumulators, and workers that may compute its shards."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from headscope.attention.model.model_source import TileSource
from headscope.encoding.shards import Shard
from headscope.scans.declarations.run_options import RunOptions
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import State

TRAINED = "trained"
"""The name of the scan with the trained model, for most stages the only one."""
TEXT_PASS = "text"
"""The name of the pass of the trained model over a run's text, which stages share."""
Sums = TypeVar("Sums", bound=Accumulator)


class ScanCorpus(ABC):
    """The corpus of a scan and the model that reads it. Nothing is read and no model made before `source` is called."""

    @abstractmethod
    def source(self) -> TileSource:
        """Return the stream of tiles, from the start of the corpus."""

    @abstractmethod
    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents in a number of inputs, for the progress line."""

    @property
    def total(self) -> int | None:
        """The number of documents in the corpus; None if it is unknown."""
        return None

    @property
    def limit(self) -> int | None:
        """The maximum number of inputs; None without a limit."""
        return None

    @property
    def shared(self) -> str | None:
        """A name for scans that share a pass because they read the same inputs with the same model; None for none."""
        return None


@runtime_checkable
class ReadableRun(Protocol):
    """A run whose text can be read."""

    options: RunOptions

    @property
    def total(self) -> int | None:
        """The number of documents in the text; None if it is unknown."""

    def done(self, segments: int) -> int:
        """Return the approximate number of documents that a number of inputs covers."""

    def source(self) -> TileSource:
        """Return the stream of tiles over the text."""


class RunText(ScanCorpus):
    """The text of a run: one pass of the trained model over it serves all stages that have a scan of it.

    A subclass with another `source` lets another model read the text, in a pass of its own.
    """

    def __init__(self, run: ReadableRun) -> None:
        self.run = run

    def source(self) -> TileSource:
        """Return the stream of tiles over the text."""
        return self.run.source()

    @property
    def shared(self) -> str | None:
        """The name of the shared pass; None if a subclass has another source."""
        return TEXT_PASS if type(self).source is RunText.source else None

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents that a number of inputs covers."""
        return self.run.done(inputs)

    @property
    def total(self) -> int | None:
        """The number of documents in the text; None if it is unknown."""
        return self.run.total

    @property
    def limit(self) -> int | None:
        """The maximum number of inputs."""
        return self.run.options.max_inputs


@dataclass(frozen=True)
class Scan:
    """One pass of a model over a corpus, and the accumulators that it fills.

    The runner of a scan decides where it is computed: in a pass shared by several stages, shard by shard with a
    checkpoint, or on the workers of a cluster. The sums are identical to the last digit.

    Attributes:
        corpus: corpus that is read.
        accumulators: accumulators, filled in place by the scan.
        name: name of the scan within its stage, in letters, digits and `-`.
        label: label in the progress line; the name of the stage when empty.
        local: whether the scan must run where the tables are computed, because it needs results of earlier stages,
            which a worker of a cluster or a part of a run does not have.
        until: fraction of the stage's scan time that has passed when this scan ends; None if it is unknown.
    """

    corpus: ScanCorpus
    accumulators: Sequence[Accumulator]
    name: str = TRAINED
    label: str = field(default="", kw_only=True)
    local: bool = field(default=False, kw_only=True)
    until: float | None = field(default=None, kw_only=True)


class ScanSums(dict[str, Sequence[Accumulator]]):
    """The filled accumulators of a stage's scans, by scan name."""

    def of(self, kind: type[Sums], scan: str = TRAINED) -> Sums:
        """Return the accumulator of a class.

        Args:
            kind: class of the accumulator; a subclass of it matches, too.
            scan: name of the scan.

        Raises:
            KeyError: the stage has no such scan, or the scan has no such accumulator.
        """
        for accumulator in self[scan]:
            if isinstance(accumulator, kind):
                return accumulator
        raise KeyError(f"scan {scan} has no {kind.__name__}")


@dataclass(frozen=True)
class ShardJob:
    """A shard of a scan, and the stages for which its sums must be computed.

    Attributes:
        shard: the shard.
        stages: names of the stages that lack its sums; none if every stage has kept them.
    """

    shard: Shard
    stages: tuple[str, ...]


@runtime_checkable
class ShardExecutor(Protocol):
    """An executor that computes the shards of a run's scans, such as a cluster."""

    def compute(self, scan_name: str, jobs: Iterator[ShardJob]) -> Iterator[tuple[ShardJob, Sequence[State]]]:
        """Yield the jobs in order, each with the state of its sums for each of its stages.

        A job is drawn when a worker is ready for it.

        Args:
            scan_name: name of the scan within its stages.
            jobs: shards to compute.
        """
