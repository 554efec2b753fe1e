"""`benchmarks/effect_worlds.py`, small: promises kept where they are, and that it would see one that is not."""

import numpy as np
import pytest
from scipy import stats

from headscope.statistics.inference.significance import false_discovery
from support.benchmarks import benchmark


@pytest.fixture(scope="module")
def bench():
    return benchmark("effect_worlds")


@pytest.mark.parametrize("shape", ["normal", "skewed", "long tails"])
def test_level_and_coverage(bench, shape, monkeypatch):
    monkeypatch.setattr(bench, "RUNS", 120)
    (level, power), (coverage,) = (
        function(("an input each", shape, 100)) for function in (bench.of_test, bench.of_intervals)
    )
    assert level.check == "false-discovery"
    assert level.kept, level
    assert power.value > 0.8
    assert coverage.kept, coverage


def test_the_slope_of_effects_on_estimates(bench):
    for outlier in (False, True):
        (coverage,) = bench.of_slopes((32, outlier))
        assert coverage.kept, coverage


def test_students_t_alone_names_too_many(bench):
    """What the test is for: heads without an effect whose documents are skewed."""
    named = 0
    for run in range(200):
        rng = np.random.default_rng([run, 30, 11])
        sums, _ = bench.drawn("an input each", "skewed", 30, bench.HEADS, rng)
        named += (false_discovery(stats.ttest_1samp(sums, 0).pvalue) < 0.05).any()
    assert named / 200 > 0.08
