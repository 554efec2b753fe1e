"""What a run would take, before it is begun: its passes, and the time of each from a batch that is timed."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import torch

from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.counted import count, duration
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.models.placement import device_of, weight_bytes
from headscope.prepare.model_run import ModelRun
from headscope.running.stages import check_stages, measurement_of, stages_of
from headscope.scans.scan_declaration import RunText, Scan, ScanCorpus
from headscope.scans.short_memory import with_fewer_inputs
from headscope.statistics.sums.accumulator import Accumulator

_TIMED = 2  # batches; the first warms up


@dataclass(frozen=True)
class PassCost:
    """One pass of the model, or of one with random weights, over a corpus.

    Attributes:
        label: as the progress line says it.
        inputs: about how many it reads.
    """

    label: str
    inputs: int


@dataclass(frozen=True)
class RunCost:
    """What a run would take.

    Attributes:
        parameters: of the model.
        weight_bytes: that they take.
        peak_bytes: memory that the process, or the device, took at most while the batch was timed.
        kept_bytes: of the sums that a run keeps on disk while it goes on.
        documents: in the text.
        tokens: about how many, all inputs together.
        seconds: of an input, with all that is summed up in the pass over the text.
        passes: in the order of measuring.
        unscanned: stages that train, or compute from what others found, without a pass that is declared.
    """

    parameters: int
    weight_bytes: int
    peak_bytes: int
    kept_bytes: int
    documents: int
    tokens: int
    seconds: float
    passes: tuple[PassCost, ...]
    unscanned: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the answer, a sentence a line."""
        yield (
            f"model: {count(self.parameters, 'parameter')}, {_size(self.weight_bytes)} of weights; "
            f"{_size(self.peak_bytes)} of memory while a batch was read"
        )
        text = count(self.passes[0].inputs, "input")
        yield f"text: {count(self.documents, 'document')}, about {text}, {self.tokens:,} tokens"
        for each in self.passes:
            yield f"pass: {each.label}, {count(each.inputs, 'input')}, about {duration(each.inputs * self.seconds)}"
        if self.unscanned:
            yield f"not timed: {', '.join(self.unscanned)}"
        seconds = self.seconds * sum(each.inputs for each in self.passes)
        yield (
            f"time: about {duration(seconds)} of reading, {1000 * self.seconds:.1f} ms an input, timed on a batch of "
            "this text; fits, figures and pages come on top"
        )
        yield f"disk: about {_size(self.kept_bytes)} of sums while it goes on"


def run_cost(run: ModelRun) -> RunCost:
    """Time a batch of a run's text, and say what all its passes would take; nothing is measured or written.

    Args:
        run: from `prepare`; its counts are of no use afterwards.

    Raises:
        HeadscopeError: the run would be refused.
    """
    check_stages(run)
    source = run.source()
    assert isinstance(source.batches, ShardedBatches)
    shard = next(source.batches.shards())
    scans = {stage.name: list(measurement_of(stage, run).scans()) for stage in stages_of(run)}
    of_text = [each for several in scans.values() for each in several if isinstance(each.corpus, RunText)]
    accumulators = [each for text in of_text for each in text.accumulators]
    seconds = _seconds_of_input(source, shard, accumulators)
    read = len({segment.document for segment in shard.segments})
    documents = run.corpora.documents or read
    share = max(1.0, documents / read) if run.options.max_inputs is None else 1.0
    inputs = round(len(shard.segments) * share)
    model = run.loaded.model
    return RunCost(
        parameters=sum(each.numel() for each in model.parameters()),
        weight_bytes=weight_bytes(model),
        peak_bytes=_peak(run),
        kept_bytes=sum(array.nbytes for each in accumulators for array in each.state().values()),
        documents=documents,
        tokens=round(sum(map(len, shard.segments)) * share),
        seconds=seconds,
        passes=_passes(scans, inputs),
        unscanned=tuple(stage for stage, several in scans.items() if not several),
    )


def _seconds_of_input(source: ModelSource, shard: Shard, accumulators: Sequence[Accumulator]) -> float:
    """Time a batch of a shard, as large as there is memory for; return the seconds of an input."""
    batches = source.batches
    assert isinstance(batches, ShardedBatches)

    def compute() -> float:
        part, timed = copy(source), list(batches.of(shard))[-_TIMED:]
        part.batches = iter(timed)
        ends = [time.perf_counter()]
        scan(part, accumulators, progress=lambda counts: ends.append(time.perf_counter()))
        return (ends[-1] - ends[-2]) / len(timed[-1])

    return with_fewer_inputs(compute, batches.limit.halve)


def _passes(scans: Mapping[str, Sequence[Scan]], inputs: int) -> tuple[PassCost, ...]:
    """Return the passes of scans, by stage: that over the text first, which the stages with a scan of it share."""
    shared, others = [], []
    for stage, several in scans.items():
        number = None
        for each in several:
            if isinstance(each.corpus, RunText):
                shared.append(stage)
                continue
            # Models with random weights read what the trained one read before them; none is made for a count.
            number = each.corpus.limit if each.corpus.limit is not None else number or _counted(each.corpus)
            label = each.label or stage
            if number:
                others.append(PassCost(label if stage in label else f"{stage}: {label}", number))
    return (PassCost(f"text, for {', '.join(shared) or 'no stage'}", inputs), *others)


def _counted(corpus: ScanCorpus) -> int:
    """Make the inputs of a corpus, and count them."""
    batches = getattr(corpus.source(), "batches", None)
    return sum(len(shard.segments) for shard in batches.shards()) if isinstance(batches, ShardedBatches) else 0


def _peak(run: ModelRun) -> int:
    device = device_of(run.loaded.model)
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used  # kilobytes elsewhere


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
