"""The simulation of jobs that `make bench` prints, small: what is planted is found, and nothing else."""

import numpy as np
import pytest

from support.benchmarks import benchmark


@pytest.fixture(scope="module")
def worlds():
    return benchmark("job_worlds")


def of(cells, check):
    """The cell of this check."""
    (cell,) = [cell for cell in cells if cell.check == check]
    return cell


def test_heads_of_one_job_have_one(worlds):
    """With 220 heads in all a level of 8% would fail."""
    cells = [worlds.of_one_job((world, 12, 300, 44))[0] for world in worlds.ONE_JOB]
    passed = sum(cell.value * cell.runs for cell in cells) / sum(cell.runs for cell in cells)
    assert worlds.Cell("false-discovery", "all", 12, sum(cell.runs for cell in cells), passed).kept, cells


@pytest.mark.parametrize("world", ["previous and far", "itself and far", "writes two things"])
def test_planted_jobs_are_found_with_their_shares(worlds, world):
    cells = worlds.of_planted((world, 50, 1000, 10))
    assert of(cells, "power").value == 1.0
    assert of(cells, "false-discovery").value <= 0.1
    assert of(cells, "rows-taken-for-the-other-job").value < 0.04
    assert abs(of(cells, "share-off-by").value) < 0.03


def test_where_jobs_overlap_no_coverage_is_promised(worlds):
    """Some keys of the token before are punctuation as well: their rows are grouped with the other job."""
    cells = worlds.of_planted(("previous and punctuation", 50, 1000, 10))
    assert of(cells, "rows-taken-for-the-other-job").value > worlds.OVERLAP
    assert of(cells, "coverage-where-jobs-overlap").kept is None


def test_a_world_is_what_it_says(worlds):
    made = worlds.made("previous and far", documents=50, rows=20_000, both=True, rng=np.random.default_rng(0))
    assert made.job.mean() == pytest.approx(0.3, abs=0.03)
    offset = made.rows.features[:, worlds.FEATURES.index("offset")]
    np.testing.assert_array_equal(offset[made.job == 0], 1.0)
    assert offset[made.job == 1].min() >= np.log2(6)
