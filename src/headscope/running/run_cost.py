"""The expected cost of a run before it begins: its passes, and the time of each, extrapolated from a timed batch."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import torch

from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.models.placement import device_of, weight_bytes
from headscope.running.stages import check_stages, measurement_of, stages_of
from headscope.scans.passes import with_fewer_inputs
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import TEXT_PASS, Scan, ScanCorpus
from headscope.statistics.sums.accumulator import Accumulator
from headscope.visible import count, duration

_TIMED = 2  # batches; the first warms up


@dataclass(frozen=True)
class PassCost:
    """One pass of the model, or of one with random weights, over a corpus.

    Attributes:
        label: label in the progress line.
        inputs: approximate number of inputs.
    """

    label: str
    inputs: int


@dataclass(frozen=True)
class RunCost:
    """The expected cost of a run.

    Attributes:
        parameters: number of the model's parameters.
        weight_bytes: memory that they take.
        peak_bytes: peak memory of the process, or the device, while the batch was timed.
        kept_bytes: size of the sums that a run keeps on disk while it is running.
        documents: number of documents in the text.
        tokens: approximate number of tokens of all inputs.
        seconds: seconds per input, including all accumulators of the pass over the text.
        passes: passes in the order of measuring.
        unscanned: stages without a declared pass, which train, or compute from other stages' results.
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
        """Yield the description of the cost, one sentence per line."""
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
    """Time a batch of a run's text and estimate the cost of all its passes; nothing is measured or written.

    Args:
        run: run from `prepare`; its counts are meaningless afterwards.

    Raises:
        HeadscopeError: the run is invalid.
    """
    check_stages(run)
    source = run.source()
    assert isinstance(source.batches, ShardedBatches)
    shard = next(source.batches.shards())
    scans = {stage.name: list(measurement_of(stage, run).scans()) for stage in stages_of(run)}
    of_text = [each for several in scans.values() for each in several if each.corpus.shared == TEXT_PASS]
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
    """Time a batch of a shard, as large as memory allows; return the seconds per input."""
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
    """Return the passes of scans, by stage: first the pass over the text, which all stages with a text scan share."""
    shared, others = [], []
    for stage, several in scans.items():
        number = None
        for each in several:
            if each.corpus.shared == TEXT_PASS:
                shared.append(stage)
                continue
            # Models with random weights read the inputs of the trained one before them; none is made just for a count.
            number = each.corpus.limit if each.corpus.limit is not None else number or _counted(each.corpus)
            label = each.label or stage
            if number:
                others.append(PassCost(label if stage in label else f"{stage}: {label}", number))
    return (PassCost(f"text, for {', '.join(shared) or 'no stage'}", inputs), *others)


def _counted(corpus: ScanCorpus) -> int:
    """Make the inputs of a corpus and return their number."""
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
