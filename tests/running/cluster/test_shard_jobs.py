"""What is done for a scan on a cluster, in which order, and what again: without a cluster."""

import random

import pytest

from headscope.encoding.shards import Shard
from headscope.errors import ModelError
from headscope.running.cluster.shard_jobs import MOST_LOSSES, Job, ShardJobs
from headscope.scans.shard_sums import TOGETHER


def jobs_of(number, *, first=0, ahead=1000):
    return ShardJobs((Shard(place, ()) for place in range(first, number)), first=first, ahead=ahead)


def result_of(jobs, job):
    """What a worker would give: the numbers, in the order in which they are joined."""
    return [n for one in jobs.results(job) for n in one] if job.joins else [job.numbers.start]


def through(jobs, *, seed=0, workers=3, losing=0.0):
    """Do all jobs in a random order, losing some; return the nodes as they are taken, with their results."""
    draw, under_way, taken = random.Random(seed), [], []
    while not jobs.finished:
        while len(under_way) < workers and (job := jobs.next()) is not None:
            under_way.append((job, result_of(jobs, job)))
        if under_way:
            job, result = under_way.pop(draw.randrange(len(under_way)))
            if draw.random() < losing:
                jobs.again(job.numbers) if draw.random() < 0.5 and job.joins else jobs.lost(job)
            else:
                jobs.done(job, result)
        while (found := jobs.ready()) is not None:
            if draw.random() < losing:
                jobs.again(found.numbers)
                break
            jobs.take(found)
            taken.append(found)
    return taken


@pytest.mark.parametrize("first", [0, 3, 8, 13])
@pytest.mark.parametrize("number", [13, 16, 17, 40])
def test_every_shard_is_taken_once_in_order_and_eight_are_joined(first, number):
    taken = through(jobs_of(number, first=first), seed=first + number)
    assert [n for found in taken for n in found.numbers] == list(range(first, number))
    for found in taken:
        assert found.result == list(found.numbers)
        assert (len(found.numbers), found.level) in {(1, 0), (TOGETHER, 1)}
        assert found.level == 0 or found.numbers.start % TOGETHER == 0
    # Where eight can be joined they are.
    whole = [start for start in range(0, number, TOGETHER) if first <= start and start + TOGETHER <= number]
    assert [found.numbers.start for found in taken if found.level] == whole


@pytest.mark.parametrize("seed", range(8))
def test_what_is_lost_is_done_again(seed):
    taken = through(jobs_of(37, first=2), seed=seed, losing=0.1)
    assert [n for found in taken for n in found.numbers] == list(range(2, 37))
    assert all(found.result == list(found.numbers) for found in taken)


def test_no_more_is_drawn_than_was_said():
    jobs = jobs_of(100, ahead=20)
    drawn = []
    while (job := jobs.next()) is not None:
        drawn.append(job)
    assert len(drawn) == 20
    for job in drawn[1:]:
        jobs.done(job, [job.numbers.start])
    assert jobs.ready() is None
    jobs.done(drawn[0], [0])
    join = jobs.next()
    assert join is not None
    assert join.joins
    assert join.numbers in (range(8), range(8, 16))


def test_no_shard_at_all():
    jobs = jobs_of(0)
    assert jobs.next() is None
    assert jobs.finished


def test_a_shard_that_ends_every_worker_is_named():
    jobs = jobs_of(3)
    job = jobs.next()
    assert job == Job(range(0, 1))
    for _ in range(MOST_LOSSES - 1):
        jobs.lost(job)
        assert jobs.next() == job
    with pytest.raises(ModelError) as refused:
        jobs.lost(job)
    assert str(refused.value) == (
        "shard 0 was lost with its worker 4 times; it may take more memory than there is: give a lower --batch-size, "
        "fewer workers a machine (--cpus-per-worker, --gpus-per-worker), or look at the logs of the cluster"
    )
