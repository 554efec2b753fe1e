"""A scan in shards: the same digits wherever it was stopped, whoever computed a shard, however often it was kept."""

import threading

import numpy as np
import pytest
import torch

from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.importance.compute import ImportanceAccumulator
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import ScanCounts, scan
from headscope.encoding.batching import length_buckets
from headscope.encoding.shards import ShardedBatches
from headscope.errors import InputError
from headscope.models.losses import ask_of
from headscope.scans import passes
from headscope.scans.examples.top_examples import TopExampleAccumulator
from headscope.scans.passes import scan_shards
from headscope.scans.shard_checkpoint import SHARDS, Part, ShardCheckpoint, forget_shards
from headscope.scans.stage_sums import StageSums
from support.inputs import made_up_segments, vocabulary
from support.scanning import shards_of
from support.task_models import tiny_task_model, tokenizer_of
from support.tiny_models import shared_tiny_model

SEGMENTS = sorted(made_up_segments(40, seed=5, documents=16), key=lambda each: (each.document, each.index))
SHARD = 60


small_shards = shards_of(SHARD)


class Asked:
    """What a scan is asked for, and the state of what it found."""

    def __init__(self, *, gradients: bool = False) -> None:
        self.model = tiny_task_model("bert") if gradients else shared_tiny_model("bert")
        self.anatomy = examine(self.model, vocabulary())
        self.gradients = gradients

    def source(self, segments=SEGMENTS):
        batches = ShardedBatches(iter(segments), batch_size=3)
        if self.gradients:
            ask = ask_of("mlm", tokenizer_of("bert"), self.anatomy)
            return GradientSource(self.model, self.anatomy, vocabulary(), batches, ask)
        return ModelSource(self.model, self.anatomy, vocabulary(), batches)

    def accumulators(self):
        layout = self.anatomy.layout
        if self.gradients:
            return [ImportanceAccumulator(layout)]
        return [StatsAccumulator(layout), TopExampleAccumulator(layout), DivergenceAccumulator(layout)]

    def found(self, kept=None, *, segments=SEGMENTS, progress=None):
        source, sums = self.source(segments), self.accumulators()
        scan_shards(source, [StageSums("stage", sums, kept)], progress=progress)
        return state_of(source, sums)


def state_of(source, sums):
    arrays = {f"{place}.{name}": a for place, each in enumerate(sums) for name, a in each.state().items()}
    counts = vars(source.counts) if isinstance(source, GradientSource) else {}
    return arrays | {name: np.array(value) for name, value in counts.items()}


def keeping(folder, *, minutes=0, key="one", part=None, beside=()):
    return ShardCheckpoint(
        folder,
        stage="stage",
        signature=key,
        versions={"torch": "2"},
        minutes=minutes,
        opened=lambda: None,
        part=part,
        beside=beside,
    )


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes(), name


@pytest.fixture(scope="module", params=[False, True], ids=["forward", "gradients"])
def asked(request):
    return Asked(gradients=request.param)


@pytest.fixture
def whole(asked):
    """What comes of it where nothing is kept."""
    return asked.found()


@pytest.fixture
def stopping(monkeypatch):
    """Shards that are computed, by their number; the scan of that in `at` is stopped in the middle."""
    computed, at = [], []
    plain = passes.compute_shard

    def compute(shard, *given, **more):
        if shard.number in at:
            raise KeyboardInterrupt
        computed.append(shard.number)
        return plain(shard, *given, **more)

    monkeypatch.setattr(passes, "compute_shard", compute)
    return computed, at


def test_shards_sum_up_to_one_scan(asked, whole):
    """In other batches: to the digits that float32 has."""
    source, sums = asked.source(), asked.accumulators()
    source.batches = length_buckets(SEGMENTS, batch_size=5)
    scan(source, sums)
    other = state_of(source, sums)
    assert other.keys() == whole.keys()
    for name, array in whole.items():
        if "top_examples.keys" not in name:
            np.testing.assert_allclose(array, other[name], atol=1e-4, rtol=1e-5, err_msg=name)


def test_what_is_kept_changes_no_digit(asked, whole, tmp_path):
    for minutes in (0, 5):
        same(asked.found(keeping(tmp_path / str(minutes), minutes=minutes)), whole)
    assert not (tmp_path / "5").exists()
    assert [path.name for path in (tmp_path / "0" / SHARDS).iterdir()] == ["stage.trained.safetensors"]


def test_stopped_at_each_shard_it_goes_on_with_that_shard(asked, whole, tmp_path, stopping):
    computed, at = stopping
    number = len(list(asked.source().batches.shards()))
    assert number > 4
    for stop in range(number):
        at[:] = [stop]
        with pytest.raises(KeyboardInterrupt):
            asked.found(keeping(tmp_path))
    assert computed == list(range(number - 1))
    at.clear()
    same(asked.found(keeping(tmp_path)), whole)
    same(asked.found(keeping(tmp_path)), whole)
    assert computed == list(range(number))


def test_where_it_was_kept_does_not_matter(asked, whole, tmp_path, stopping, monkeypatch):
    """Kept after the second shard alone, as if that had taken the minutes, and stopped three later."""
    _, at = stopping
    at[:] = [4]
    due = iter([False, True, False, False])
    kept = keeping(tmp_path)
    monkeypatch.setattr(kept, "is_due", lambda *, last: next(due))
    with pytest.raises(KeyboardInterrupt):
        asked.found(kept)
    at.clear()
    found = keeping(tmp_path).total("trained")
    assert found is not None
    assert found.shards == 2
    same(asked.found(keeping(tmp_path)), whole)


@pytest.mark.parametrize("key", ["one", "other"])
def test_what_was_damaged_or_is_of_another_stage_is_computed_again(asked, whole, tmp_path, stopping, key):
    computed, _ = stopping
    asked.found(keeping(tmp_path))
    if key == "one":
        (path,) = (tmp_path / SHARDS).iterdir()
        content = bytearray(path.read_bytes())
        content[-3] ^= 1
        path.write_bytes(bytes(content))
    computed.clear()
    same(asked.found(keeping(tmp_path, key=key)), whole)
    assert computed[0] == 0


def test_other_inputs_than_those_of_the_stopped_run_are_refused(asked, tmp_path):
    asked.found(keeping(tmp_path))
    with pytest.raises(InputError) as refused:
        asked.found(keeping(tmp_path), segments=SEGMENTS[1:])
    number = len(list(ShardedBatches(iter(SEGMENTS), batch_size=1).shards()))
    assert str(refused.value) == (
        f"the first {number} shards of the text are not those of the run that was stopped; delete the folder shards "
        "of this run, and run again"
    )


def test_a_text_that_lost_its_end_is_refused_too(asked, tmp_path):
    asked.found(keeping(tmp_path))
    with pytest.raises(InputError, match="are not those of the run that was stopped"):
        asked.found(keeping(tmp_path), segments=SEGMENTS[:5])


def test_parts_of_a_run_are_joined_to_the_digit(asked, whole, tmp_path, stopping):
    computed, _ = stopping
    folders = [tmp_path / str(number) for number in (1, 2, 3)]
    for number, folder in enumerate(folders, 1):
        asked.found(keeping(folder, part=Part(number, 3)))
    shards = list(range(len(computed)))
    assert sorted(computed) == shards
    # A part that is run again computes nothing.
    asked.found(keeping(folders[0], part=Part(1, 3)))
    assert len(computed) == len(shards)
    same(asked.found(keeping(tmp_path / "all", beside=folders)), whole)
    assert len(computed) == len(shards)
    # One that is lacking is computed.
    (lacking, *_) = sorted((folders[1] / SHARDS).iterdir())
    lacking.unlink()
    same(asked.found(keeping(tmp_path / "again", beside=folders)), whole)
    assert computed[len(shards) :] == [1]


def test_progress_goes_through_all_inputs_also_those_that_were_kept(asked, tmp_path):
    for _ in range(2):
        told: list[ScanCounts] = []
        asked.found(keeping(tmp_path), progress=told.append)
        assert [each.segments for each in told] == sorted({each.segments for each in told})
        assert (told[-1].segments, told[-1].tokens) == (len(SEGMENTS), sum(map(len, SEGMENTS)))


def test_time_says_when_it_is_due(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("headscope.scans.shard_checkpoint.time.monotonic", lambda: now[0])
    kept = keeping(tmp_path, minutes=4)
    found = []
    for passed in (29, 30, 239, 240):
        now[0] = 100.0 + passed
        found.append((kept.is_due(last=False), kept.is_due(last=True)))
    assert found == [(False, False), (False, True), (False, True), (True, True)]
    kept.keep_shard("trained", 0, "d", {"a": np.zeros(1)})
    assert not kept.is_due(last=True)


def test_finished_stages_are_forgotten(tmp_path):
    keeping(tmp_path).keep_shard("trained", 0, "d", {"a": np.zeros(1)})
    forget_shards(tmp_path, ["other"])
    assert len(list((tmp_path / SHARDS).iterdir())) == 1
    forget_shards(tmp_path, ["stage"])
    assert not (tmp_path / SHARDS).exists()
    forget_shards(tmp_path, ["stage"])


@pytest.mark.parametrize(
    ("device", "maker"), [("cuda", "headscope-ahead_0"), ("cpu", "MainThread")], ids=["cuda", "cpu"]
)
def test_the_next_shard_is_made_while_an_accelerator_computes(monkeypatch, device, maker):
    """On a processor that would take its cores."""
    asked, threads = Asked(), set()

    def segments():
        for segment in SEGMENTS:
            threads.add(threading.current_thread().name)
            yield segment

    monkeypatch.setattr(passes, "device_of", lambda model: torch.device(device))
    sums = asked.accumulators()
    passes.scan_shards(asked.source(segments()), [StageSums("stage", sums)])
    assert threads == {maker}
    same(state_of(asked.source(), sums), asked.found())
