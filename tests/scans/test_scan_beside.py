"""Several stages in one scan: a shard is computed once, whatever each has kept, and no digit depends on it."""

import numpy as np
import pytest

from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention import scan as scanning
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import ScanCounts, scan
from headscope.encoding.batching import length_buckets
from headscope.encoding.shards import ShardedBatches
from headscope.scans import passes
from headscope.scans.examples.top_examples import TopExampleAccumulator
from headscope.scans.passes import scan_shards
from headscope.scans.shard_checkpoint import SHARDS, Part, ShardCheckpoint
from headscope.scans.stage_sums import StageSums
from support.inputs import made_up_segments, vocabulary
from support.scanning import shards_of
from support.tiny_models import shared_tiny_model

SEGMENTS = sorted(made_up_segments(40, seed=5, documents=16), key=lambda each: (each.document, each.index))


small_shards = shards_of(60)


@pytest.fixture
def computed(monkeypatch):
    """The shards that are computed, each with for how many stages; that in `at` is not."""
    found, at = [], []
    plain = passes.compute_shard

    def compute(shard, source, like, **more):
        if shard.number in at:
            raise KeyboardInterrupt
        found.append((shard.number, len(like)))
        return plain(shard, source, like, **more)

    monkeypatch.setattr(passes, "compute_shard", compute)
    return found, at


def source_of(batches=None):
    model = shared_tiny_model("bert")
    batches = ShardedBatches(iter(SEGMENTS), batch_size=3) if batches is None else batches
    return ModelSource(model, examine(model, vocabulary()), vocabulary(), batches)


def stats():
    layout = source_of().layout
    return [StatsAccumulator(layout), TopExampleAccumulator(layout)]


def distances():
    return [DivergenceAccumulator(source_of().layout)]


def keeping(folder, stage, *, part=None, beside=()):
    return ShardCheckpoint(
        folder, stage=stage, signature=stage, versions={}, minutes=0, opened=lambda: None, part=part, beside=beside
    )


def scanned(first, second, *, folder=None, layout_accumulators=(), **how):
    """Scan for both, the second beside the first; return the arrays of each, and the seconds."""
    kept = [None if folder is None else keeping(folder, name, **how) for name in ("first", "second")]
    stages = [StageSums("first", first, kept[0])]
    stages += [StageSums("second", second, kept[1])] if second else []
    scan_shards(source_of(), stages, layout_accumulators=[*first, *second, *layout_accumulators])
    return [[each.state() for each in sums] for sums in (first, second)], [stage.seconds for stage in stages]


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name, array in one.items():
            assert array.tobytes() == other[name].tobytes(), name


def test_both_have_what_each_would_have_alone(computed):
    """To the digits that float32 has: weights and row statistics are made in other steps where both are asked for."""
    (one, other), _ = scanned(stats(), distances())
    number = len(list(source_of().batches.shards()))
    assert computed[0] == [(shard, 2) for shard in range(number)]
    for found, own in ((one, stats()), (other, distances())):
        scan(source_of(length_buckets(SEGMENTS, batch_size=5)), own)
        for state, alone in zip(found, own, strict=True):
            for name, array in alone.state().items():
                if "top_examples.keys" not in name:
                    np.testing.assert_allclose(state[name], array, atol=1e-4, rtol=1e-5, err_msg=name)


def test_one_that_has_everything_changes_no_digit_of_the_other(computed):
    (one, other), _ = scanned(stats(), distances())
    (alone, _), _ = scanned(stats(), [], layout_accumulators=distances())
    same(alone, one)
    (alone, _), _ = scanned(distances(), [], layout_accumulators=stats())
    same(alone, other)


def test_batches_are_as_small_as_the_other_needs(monkeypatch):
    """A stack of layers that is too large cuts the batches of both, also where it gets nothing any more."""
    monkeypatch.setattr(scanning, "STACK_LIMIT", 1)
    sizes = []

    class Sizes(StatsAccumulator):
        def begin(self, batch):
            sizes.append(len(batch.segments))
            super().begin(batch)

    own = [Sizes(source_of().layout)]
    scan_shards(source_of(), [StageSums("stage", own)], layout_accumulators=[*own, *distances()])
    assert set(sizes) == {1}


def test_stopped_at_each_shard_both_go_on_with_that_shard(computed, tmp_path):
    """Also where the stop fell between what was kept of the one and of the other."""
    (one, other), _ = scanned(stats(), distances())
    found, at = computed
    number = len(found)
    found.clear()
    for stop in range(number):
        at[:] = [stop]
        with pytest.raises(KeyboardInterrupt):
            scanned(stats(), distances(), folder=tmp_path)
        if stop == 2:
            (tmp_path / SHARDS / "second.trained.safetensors").unlink()
    at.clear()
    again, _ = scanned(stats(), distances(), folder=tmp_path)
    same(again[0], one)
    same(again[1], other)
    # The second lost the first two shards after they were computed: they are computed for it alone.
    both = [(shard, 2) for shard in range(number)]
    assert found == [*both[:2], (0, 1), (1, 1), *both[2:]]


def test_parts_of_a_run_keep_what_each_found(computed, tmp_path):
    (one, other), _ = scanned(stats(), distances())
    found, _ = computed
    number = len(found)
    found.clear()
    folders = [tmp_path / str(number) for number in (1, 2)]
    for place, folder in enumerate(folders, 1):
        scanned(stats(), distances(), folder=folder, part=Part(place, 2))
    assert sorted(found) == [(shard, 2) for shard in range(number)]
    again, _ = scanned(stats(), distances(), folder=tmp_path / "all", beside=folders)
    assert len(found) == number
    same(again[0], one)
    same(again[1], other)


def test_the_time_is_parted():
    """To each stage what its accumulators took, and of what is left, the model's, the same."""
    counts = ScanCounts(1, 1, 10.0, spent=(1.0, 2.0, 4.0))
    for accumulators, expected in (([stats(), distances()], [4.5, 5.5]), ([[*stats(), *distances()]], [10.0])):
        stages = [StageSums("stage", each) for each in accumulators]
        passes._add_seconds(stages, counts)
        assert [stage.seconds for stage in stages] == expected


def test_all_time_is_somebodys():
    _, seconds = scanned(stats(), distances())
    assert min(seconds) > 0
    counts = scan(source_of(), [*stats(), *distances()])
    assert len(counts.spent) == 3
    assert 0 < min(counts.spent) < sum(counts.spent) < counts.seconds
