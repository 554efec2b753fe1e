"""Cost of a default report's pass over its text on a device: kernel launches, and bytes copied at a batch's end.

Every torch operator that computes something is counted when it is called. The count approximates the device's kernel
launches, each of which costs the host some microseconds. Views, and memory that is allocated but not written, launch
nothing. The model's own launches are counted separately. Bytes are those of the sums that all stages copy together
when a batch ends.

    python benchmarks/launches.py        a model of BERT's shape with random weights, by function of the package
"""

import argparse
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertConfig, BertModel

import headscope
from headscope.attention.host_copy import HostCopy
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import TileAccumulator, scan

_NOTHING = ("aten::empty", "aten::new_empty", "aten::_local_scalar_dense", "aten::pin_memory")
MODEL = "model"
_PACKAGE = Path(headscope.__file__).parent
_MODELS = Path(transformers.__file__).parent


class Launches(TorchDispatchMode):
    """Counts operators within a `with` block.

    Attributes:
        counts: number of operators by the file and function of the package that calls them, or `MODEL`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        views = any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)
        if not views and not schema.name.startswith(_NOTHING):
            self.counts[_asked_by()] += 1
        return func(*args, **(kwargs or {}))


def _asked_by() -> str:
    for frame in reversed(traceback.extract_stack(limit=40)):
        path = Path(frame.filename)
        if path.is_relative_to(_MODELS):
            return MODEL
        if path.is_relative_to(_PACKAGE):
            return f"{path.relative_to(_PACKAGE).as_posix()} {frame.name}"
    return MODEL


@dataclass(frozen=True)
class BatchCost:
    """The cost of a batch on a device.

    Attributes:
        launches: number of launches by the file and function that cause them.
        waiting: bytes that are copied when the batch ends.
        stacks: largest number of bytes of weights that are kept until the batch ends.
    """

    launches: Counter[str]
    waiting: int
    stacks: int


def batch_cost(source: ModelSource, accumulators: Sequence[TileAccumulator]) -> BatchCost:
    """Measure the cost of a batch on a device, after a first pass has examined the model.

    Args:
        source: model source whose batches are replaced; a list of two or more.
        accumulators: accumulators fed with some of the batches.
    """
    batches = list(source.batches)
    counts, waiting, stacks = [], [], 0
    for some in (batches[:1], batches[:1], batches[:2]):
        source.batches = some
        fetched: list[int] = []
        with Launches() as launches, mock.patch.object(HostCopy, "fetch", _weighing(fetched)):
            stacks = scan(source, accumulators).held_bytes
        counts.append(launches.counts)
        waiting.append(sum(fetched))
    return BatchCost(counts[2] - counts[1], waiting[2] - waiting[1], stacks)


def _weighing(fetched: list[int]) -> Callable[[HostCopy], None]:
    """Return a `HostCopy.fetch` that appends the number of bytes it copies to a list."""
    fetch = HostCopy.fetch

    def weighed(copy: HostCopy) -> None:
        fetched.append(sum(handle.tensor.nbytes for handle in copy._handles))
        fetch(copy)

    return weighed


def bert_run(folder: Path, *, layers: int, batch_size: int = 8, device: str = "cpu", **shape: int) -> Any:
    """Prepare a run of a default report over a short text, with a model of BERT's shape and random weights.

    Args:
        folder: folder for the text.
        layers: number of layers of the model.
        batch_size: batch size of the run.
        device: device of the model.
        **shape: further settings of the model's configuration.
    """
    from headscope.models.in_memory import model_in_memory
    from headscope.models.load_model import load_tokenizer
    from headscope.scans.declarations.run_options import RunOptions
    from headscope.scans.prepare.prepared_run import prepare

    path = folder / "text.txt"
    path.write_text("The old man sat on the bank, and did not know.\nShe came, saw the dog, and left again.\n\n" * 64)
    tokenizer, _ = load_tokenizer("headscope-minilm")
    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=layers, vocab_size=len(tokenizer), **shape)
    model = BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa").eval()
    options = RunOptions(
        loaded_model=model_in_memory(model.to(device), tokenizer),
        text=(str(path),),
        packing="single",
        max_length=128,
        batch_size=batch_size,
        skip=("explanation",),  # it samples rows, input by input
    )
    return prepare(options)


def default_cost(run: Any) -> BatchCost:
    """Measure the cost of a batch of a run's text on a device, for all stages of a default report together."""
    from headscope.running.stages import stages_of, text_scan

    scans = [text_scan(stage, run) for stage in stages_of(run)]
    accumulators = [each for some in scans if some is not None for each in some.accumulators]
    source = run.source()
    source.batches = [batch for _, batch in zip(range(2), source.batches)]
    return batch_cost(source, accumulators)


@dataclass(frozen=True)
class LayerCost:
    """The cost of one layer of a batch on a device, and the cost of the batch that does not depend on layers.

    Attributes:
        model: number of the model's launches.
        statistics: number of the package's launches, by file and function.
        waiting: bytes that are copied when the batch ends.
        once: number of the package's launches in a batch, independent of the number of layers.
    """

    model: float
    statistics: Counter[str]
    waiting: float
    once: float


def layer_cost(few: BatchCost, many: BatchCost, *, layers: tuple[int, int]) -> LayerCost:
    """Compute the cost of a layer: the difference of two models that differ only in their number of layers.

    Args:
        few, many: batch costs on the same text.
        layers: numbers of layers of the two models.
    """
    more = layers[1] - layers[0]
    each = many.launches - few.launches
    model = each.pop(MODEL) / more
    statistics = Counter({place: round(number / more) for place, number in each.items()})
    once = few.launches.total() - few.launches[MODEL] - layers[0] * each.total() / more
    return LayerCost(model, statistics, (many.waiting - few.waiting) / more, once)


def bert_layer(*, layers: tuple[int, int] = (2, 4), device: str = "cpu") -> LayerCost:
    """Measure the cost of a layer of BERT's shape on a device, with a batch of 8 inputs."""
    costs = []
    for number in layers:
        with tempfile.TemporaryDirectory() as folder:
            costs.append(default_cost(bert_run(Path(folder), layers=number, device=device)))
    return layer_cost(*costs, layers=layers)


def main() -> None:
    """Print the launches of a batch, and those of each layer."""
    cost = bert_layer()
    print(
        f"a layer and batch: {cost.model:.0f} launches of the model, {cost.statistics.total()} of the statistics; "
        f"{cost.waiting / 8 / 1024:.0f} KiB an input wait for the batch's end"
    )
    for place, number in cost.statistics.most_common():
        print(f"{number:5} {place}")
    print(f"a batch, once: {cost.once:.0f} of the statistics")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    main()
