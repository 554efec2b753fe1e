"""What is done for a scan on a cluster, in which order, and what again: without a cluster."""

import random

import pytest

from headscope.encoding.shards import Shard
from headscope.errors import ModelError
from headscope.running.shard_worker import MOST_LOSSES, ShardJobs
from headscope.scans.scan_declaration import ShardJob


def jobs_of(number, *, kept=(), ahead=16):
    """Jobs of shards in order; those in `kept` need no computation."""
    return ShardJobs(
        (ShardJob(Shard(shard, ()), () if shard in kept else ("stats",)) for shard in range(number)), ahead=ahead
    )


def through(jobs, *, seed=0, workers=3, losing=0.0):
    """Do all jobs in a random order, losing some; return the shards as they are taken, with their results."""
    draw, under_way, taken = random.Random(seed), [], []
    while not jobs.finished:
        while len(under_way) < workers and (number := jobs.next()) is not None:
            under_way.append(number)
        if under_way:
            number = under_way.pop(draw.randrange(len(under_way)))
            if draw.random() < losing:
                jobs.lost(number)
            else:
                jobs.done(number, f"sums of {jobs.job(number).shard.number}")
        while (ready := jobs.ready()) is not None:
            number, result = ready
            if result is not None and draw.random() < losing:
                jobs.again(number)
                break
            taken.append((jobs.take(number).shard.number, result))
    return taken


@pytest.mark.parametrize("kept", [(), range(5), range(3, 40), range(0, 40, 2)], ids=["none", "first", "last", "half"])
@pytest.mark.parametrize("losing", [0.0, 0.1])
def test_every_shard_is_taken_once_in_order(kept, losing):
    taken = through(jobs_of(40, kept=kept), seed=len(kept), losing=losing)
    assert taken == [(shard, None if shard in kept else f"sums of {shard}") for shard in range(40)]


def test_no_more_is_drawn_than_was_said():
    """Also of shards that need no computation."""
    for kept in ((), range(1, 100)):
        jobs = jobs_of(100, kept=kept, ahead=20)
        drawn = []
        while (number := jobs.next()) is not None:
            drawn.append(number)
        assert drawn == (list(range(20)) if not kept else [0])
        assert jobs.ready() is None
        jobs.done(0, "sums")
        assert jobs.ready() == (0, "sums")
        jobs.take(0)
        assert jobs.next() == (None if kept else 20)


def test_no_shard_at_all():
    jobs = jobs_of(0)
    assert jobs.next() is None
    assert jobs.finished


def test_a_shard_that_ends_every_worker_is_named():
    jobs = jobs_of(3)
    number = jobs.next()
    assert number == 0
    for _ in range(MOST_LOSSES - 1):
        jobs.lost(number)
        assert jobs.next() == number
    with pytest.raises(ModelError) as refused:
        jobs.lost(number)
    assert str(refused.value) == (
        "shard 0 was lost with its worker 4 times; it may take more memory than there is: give a lower --batch-size, "
        "fewer workers a machine (--cpus-per-worker, --gpus-per-worker), or look at the logs of the cluster"
    )
