"""A run that is killed in the middle of a scan, by the system and at random moments, goes on to the same digits."""

import random
from dataclasses import dataclass, replace

import pytest

from headscope.encoding import shards
from headscope.present.manifest import read_manifest
from headscope.running.writing import write_run
from headscope.scans import passes
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.shard_checkpoint import SHARDS
from headscope.storage.places import is_own
from soak import killing
from soak.tasks import answers, left_behind
from support.scanning import shards_of
from support.small_runs import sharded_options

pytestmark = pytest.mark.slow

STAGES = ("stats", "norms", "explanation", "importance", "effects", "syntax", "coref", "distances")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    return sharded_options(folder, repeats=24, documents=8, controls=1, stages=STAGES)


SHARD = 150
small_shards = shards_of(SHARD)


def write_in_small_shards(asked, out):
    """Write a run in another process, which does not share this one's patches."""
    shards.SHARD_TOKENS = SHARD
    write_run(prepare(asked), out)


def write_noting(asked, out, log):
    """Write a run; note each shard that is computed and kept, then go on."""
    plain = passes.compute_shard

    def noting(shard, *given, **more):
        found = plain(shard, *given, **more)
        with log.open("a") as file:
            file.write(f"{shard.digest}\n")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "compute_shard", noting)
        write_in_small_shards(asked, out)


@dataclass(frozen=True)
class Whole:
    """A run that nobody stopped: what it came to, the seconds that took, and how many shards it computed."""

    answers: object
    seconds: float
    shards: int


@pytest.fixture(scope="module")
def whole(asked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    seconds = killing.timed(lambda: write_noting(asked, folder / "run", folder / "log"))
    return Whole(answers(folder / "run"), seconds, len((folder / "log").read_text().splitlines()))


@pytest.mark.long
def test_killed_at_random_moments_it_comes_to_the_same_digits(asked, whole, tmp_path):
    out, log = tmp_path / "killed", tmp_path / "log"
    draw, kills = random.Random(7), 0
    # How often depends on how busy the machine was while the whole run was timed; the next test kills amid a scan.
    while not killing.run(lambda: write_noting(asked, out, log), seconds=draw.uniform(0.2, 0.6) * whole.seconds):
        kills += 1
        assert kills < 60
    assert answers(out) == whole.answers
    assert left_behind(out) == []
    assert not (out / SHARDS).exists()
    # The same inputs are read by several scans; of a kill no more than the shard at hand is computed twice.
    assert len(log.read_text().splitlines()) <= whole.shards + kills


@pytest.mark.long
def test_what_a_killed_run_left_is_swept_by_the_next(asked, whole, tmp_path):
    """A part of a shard's file, and sums of a stage that was finished in between."""
    out = tmp_path / "left"
    assert not killing.run(lambda: write_in_small_shards(asked, out), before=killing.kill_at_rename(3, after=False))
    found = read_manifest(out)
    assert found is not None
    assert found.content["complete"] is False
    assert [path for path in (out / SHARDS).iterdir() if is_own(path)]
    (out / SHARDS / "stats.trained.000003.safetensors").write_bytes(b"")
    write_run(prepare(asked), out)
    assert answers(out) == whole.answers
    assert left_behind(out) == []
    assert not (out / SHARDS).exists()


def test_minutes_change_no_digit(asked, whole, tmp_path):
    """A run that kept nothing, as no scan takes five minutes here."""
    write_run(prepare(replace(asked, shard_minutes=5)), tmp_path / "long")
    assert answers(tmp_path / "long") == whole.answers
