"""Memory that runs out: a shard is computed again with half of the batch; a single input is refused in words."""

import numpy as np
import pytest
import torch

from headscope.encoding.shards import BatchLimit, ShardedBatches
from headscope.errors import MemoryShortError
from headscope.running.writing import write_run
from headscope.scans.passes import collect, halve_batches, scan_shards
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.stage_sums import StageSums
from support.short_memory import Short
from support.small_runs import sharded_options

from .test_sharded_scan import SEGMENTS, Asked, small_shards  # noqa: F401


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:118] . DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
    ids=["cuda", "host", "python"],
)
def test_the_batch_is_halved_and_the_sums_are_the_same(error, monkeypatch):
    asked = Asked()
    whole = asked.found()
    short = Short(asked.model, monkeypatch, room=1, error=error)
    source, sums = asked.source(), asked.accumulators()
    scan_shards(source, [StageSums("stage", sums)])
    assert short.tried[0] == 3
    assert set(short.tried[1:]) == {1}, "halved once, for the rest of the scan"
    assert source.batches.limit.note == (
        "memory ran out with 3 inputs computed together; it went on with 1 (--batch-size)"
    )
    for number, each in enumerate(sums):
        for name, array in each.state().items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(array, whole[f"{number}.{name}"], rtol=1e-5, atol=1e-6)


def test_a_single_input_is_refused_in_words(monkeypatch):
    asked = Asked()
    Short(asked.model, monkeypatch, room=0)
    longest = len(SEGMENTS[0])
    source = asked.source(SEGMENTS[:1])
    with pytest.raises(MemoryShortError) as refusal:
        scan_shards(source, [StageSums("stage", asked.accumulators())])
    assert str(refusal.value) == (
        f"there is no memory for an input of {longest} tokens; choose a smaller --batch-size or --max-length, --dtype "
        "bfloat16, or --device-map auto for a model that fills the device"
    )


def test_another_error_of_the_model_stays_what_it_is(monkeypatch):
    asked = Asked()
    Short(asked.model, monkeypatch, room=0, error=RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        scan_shards(asked.source(), [StageSums("stage", asked.accumulators())])


def test_a_run_says_so_and_later_scans_begin_with_what_there_is_room_for(tmp_path, monkeypatch):
    options = sharded_options(tmp_path, repeats=4, stages=("stats", "experiments"))
    run = prepare(options)
    short = Short(run.model.loaded.model, monkeypatch, room=3)
    write_run(run, tmp_path / "run")
    refused = [index for index, number in enumerate(short.tried) if number > 3]
    assert refused, "nothing ran out"
    assert max(short.tried[refused[-1] + 1 :]) <= 3
    assert sum("memory ran out" in note for note in run.facts()["notes"]) == 1


class Passing:
    """A collector that counts the inputs of the batches that ended."""

    needs, span = frozenset({"weights"}), "rows"

    def __init__(self):
        self.inputs = []

    def begin(self, batch):
        """Start a batch."""

    def update(self, tile):
        """Take one tile."""
        assert tile.weights is not None

    def end(self, batch):
        """Close the batch."""
        self.inputs += [(segment.document, segment.index) for segment in batch.segments]


def test_what_is_no_sum_is_collected_from_the_start(monkeypatch):
    asked = Asked()
    short = Short(asked.model, monkeypatch, room=1)
    limit = BatchLimit()

    def source():
        made = asked.source()
        made.batches.limit = limit
        return made

    collector = collect(source, Passing)
    assert sorted(collector.inputs) == sorted((each.document, each.index) for each in SEGMENTS)
    assert short.tried.count(3) == 1
    monkeypatch.undo()
    Short(asked.model, monkeypatch, room=0)
    with pytest.raises(MemoryShortError, match="there is no memory for an input of"):
        collect(source, Passing)


def test_a_source_that_does_not_choose_its_batches_says_so():
    asked, error = Asked(), MemoryShortError("no memory", inputs=4)
    source = asked.source()
    source.batches = [SEGMENTS]
    with pytest.raises(MemoryShortError, match="no memory"):
        halve_batches(source, error)


def test_a_limit_is_halved_from_what_was_tried():
    limit = BatchLimit()
    assert (limit.size(16), limit.note) == (16, None)
    limit.halve(MemoryShortError("", inputs=16))
    limit.halve(MemoryShortError("", inputs=5))
    assert (limit.size(16), limit.size(1)) == (2, 1)
    assert limit.note == "memory ran out with 16 inputs computed together; it went on with 2 (--batch-size)"


def test_batches_of_a_shard_keep_to_the_limit():
    limit = BatchLimit()
    batches = ShardedBatches(iter(SEGMENTS), batch_size=8, limit=limit)
    (shard, *_) = batches.shards()
    assert max(map(len, batches.of(shard))) > 2
    limit.halve(MemoryShortError("", inputs=4))
    assert max(map(len, batches.of(shard))) == 2
