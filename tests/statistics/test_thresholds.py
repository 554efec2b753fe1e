"""Passing a threshold, corrected over heads: scipy's Benjamini-Hochberg, and no more false ones than it promises."""

import numpy as np
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from headscope.statistics.inference.confidence import Interval, interval_of
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import passing


def over(threshold):
    return lambda interval: interval.low > threshold


def test_heads_that_pass_are_those_of_scipy():
    """On an unbounded scale the p of a head can be written down: Student's t, both sides."""
    rng = np.random.default_rng(4)
    answers = rng.normal(rng.uniform(-0.2, 0.6, size=50), 1.0, size=(40, 50))
    estimate = ratio(answers, np.ones(answers.shape))

    def at(confidence):
        return interval_of(estimate, scale="real", confidence=confidence)

    found = passing(at, over(0.0))
    both_sides = 2 * student.sf(np.abs(estimate.value / estimate.error), estimate.freedom)
    p = np.where(estimate.value > 0, both_sides, 1.0)
    expected = false_discovery_control(p) <= 0.05
    assert found.tolist() == expected.tolist()
    alone = over(0.0)(at(0.95))
    assert 0 < expected.sum() < alone.sum() < 50
    assert not (expected & ~alone).any()


def test_the_number_of_heads_decides():
    """One head that passes by itself does not among 40 that do not; where all pass, all do."""
    rng = np.random.default_rng(0)
    counts = np.full((30, 40), 20)
    hits = rng.binomial(counts, 0.25)
    hits[:, 0] = np.tile([5, 6, 7], 10)

    def at(part):
        return lambda confidence: interval_of(
            ratio(hits[:, part], counts[:, part]), scale="share", counts=600.0, confidence=confidence
        )

    assert passing(at(slice(0, 1)), over(0.28)).tolist() == [True]
    assert not passing(at(slice(None)), over(0.295)).any()
    assert passing(at(slice(None)), over(0.1)).all()


def test_what_has_no_interval_is_not_tested_and_counts_for_nothing():
    nothing = np.full(3, np.nan)
    assert passing(lambda _: Interval(nothing, nothing, nothing), over(0.1)).tolist() == [None] * 3
    rng = np.random.default_rng(1)
    counts = np.full((30, 3), 20)
    counts[:25, 1] = 0
    hits = rng.binomial(counts, 0.9)

    def at(confidence):
        return interval_of(ratio(hits, counts), scale="share", counts=counts.sum(0), confidence=confidence)

    assert passing(at, over(0.25)).tolist() == [True, None, True]


def test_heads_at_the_threshold_seldom_pass():
    """Of 72 heads exactly at it each passes by itself in 2.5% of runs; corrected, at most 5% of runs have any."""
    rng = np.random.default_rng(2)
    any_alone, any_corrected = [], []
    for _ in range(200):
        counts = rng.integers(5, 20, size=(60, 72))
        estimate = ratio(rng.binomial(counts, 0.5), counts)

        def at(confidence, estimate=estimate):
            return interval_of(estimate, scale="share", counts=700.0, confidence=confidence)

        any_alone.append(bool(over(0.5)(at(0.95)).any()))
        any_corrected.append(bool(passing(at, over(0.5)).any()))
    assert np.mean(any_alone) > 0.6
    assert np.mean(any_corrected) <= 0.05
