"""Shards on a Ray cluster of several processes: the tables of one process to the digit, also where one is killed."""

import os
import signal
from dataclasses import replace

import pytest

from headscope.running.ray_connection import ClusterOptions
from headscope.running.ray_engine import RayEngine
from headscope.running.shard_worker import ShardJobs
from headscope.running.writing import write_run
from headscope.scans import passes
from headscope.scans.prepare.prepared_run import prepare
from soak.tasks import answers, left_behind
from support.scanning import shards_of
from support.small_runs import sharded_options

ray = pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return sharded_options(
        tmp_path_factory.mktemp("clustered"),
        repeats=64,
        documents=10,
        controls=1,
        shuffled=True,
        stages=("stats", "importance", "syntax", "distances", "map"),
    )


small_shards = shards_of(100)


@pytest.fixture(scope="module")
def whole(asked, tmp_path_factory):
    """What one process comes to, and how many shards it computes."""
    out = tmp_path_factory.mktemp("whole") / "run"
    write_run(prepare(asked), out)
    return answers(out)


@pytest.fixture(scope="module")
def text_alone(asked):
    """Of the text alone, which has many shards; that every stage is computed on workers is tested once."""
    return replace(asked, stages=("stats", "distances"))


@pytest.fixture(scope="module")
def whole_text(text_alone, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole-text") / "run"
    write_run(prepare(text_alone), out)
    return answers(out)


@pytest.fixture(scope="module")
def engine():
    """Two workers, each a process, beside this one."""
    with RayEngine(ClusterOptions(workers=2)) as held:
        yield held


@pytest.fixture
def done_there(monkeypatch):
    """The numbers of the shards that workers have computed."""
    jobs = []
    plain = ShardJobs.done
    monkeypatch.setattr(
        ShardJobs,
        "done",
        lambda self, number, result: jobs.append(self.job(number).shard.number) or plain(self, number, result),
    )
    return jobs


@pytest.fixture
def nothing_here(monkeypatch):
    """Refuses every shard that would be computed in this process."""

    def refuse(*given, **more):
        raise AssertionError("computed here")

    monkeypatch.setattr(passes, "compute_shard", refuse)


@pytest.mark.long
def test_the_cluster_gives_the_tables_of_one_process(asked, whole, engine, tmp_path, done_there, nothing_here):
    run = prepare(asked)
    engine.serve(run)
    write_run(run, tmp_path / "run", executor=engine)
    assert answers(tmp_path / "run") == whole
    assert left_behind(tmp_path / "run") == []
    assert len({worker.process for worker in engine._workers} - {os.getpid()}) == 2
    assert len(done_there) > 40


@pytest.mark.long
def test_a_worker_that_is_killed_in_the_middle_changes_no_digit(
    text_alone, whole_text, engine, tmp_path, monkeypatch, done_there
):
    run = prepare(text_alone)
    engine.serve(run)
    killed, lost = [], []
    plain = ShardJobs.lost
    monkeypatch.setattr(ShardJobs, "lost", lambda self, number: lost.append(number) or plain(self, number))
    hand_out = RayEngine._hand_out

    def handing_out(self, scan):
        hand_out(self, scan)
        busy = [each for each in self._workers if each.up and each.jobs and each.process not in killed]
        if busy and len(done_there) >= 5 * (len(killed) + 1) and len(killed) < 2:
            killed.append(busy[-1].process)
            os.kill(busy[-1].process, signal.SIGKILL)

    monkeypatch.setattr(RayEngine, "_hand_out", handing_out)
    write_run(run, tmp_path / "run", executor=engine)
    assert len(set(killed)) == 2
    assert lost
    assert answers(tmp_path / "run") == whole_text


def test_a_run_that_was_stopped_goes_on_in_the_cluster_and_the_other_way_round(
    text_alone, whole_text, engine, tmp_path, monkeypatch, done_there
):
    """Whoever computed the first shards, the rest is added to them in the same order."""
    plain = passes.compute_shard

    def stop(shard, *given, **more):
        if shard.number == 5:
            raise KeyboardInterrupt
        return plain(shard, *given, **more)

    monkeypatch.setattr(passes, "compute_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        write_run(prepare(text_alone), tmp_path / "run")
    run = prepare(text_alone)
    engine.serve(run)
    write_run(run, tmp_path / "run", executor=engine)
    assert min(done_there) == 5
    assert len(done_there) == len(set(done_there)), "a shard is computed once for both stages"
    assert answers(tmp_path / "run") == whole_text
