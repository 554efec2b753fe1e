"""Log-odds with an informative Dirichlet prior, against the formula written out."""

import math

import numpy as np
import pytest

from headscope.analyses.jobs.distinctive_tokens import PRIOR, distinctive_tokens, log_odds

RNG = np.random.default_rng(1)


def test_log_odds_are_those_of_the_formula():
    inside, outside = RNG.integers(0, 30, 12), RNG.integers(0, 50, 12)
    everywhere = inside + outside + RNG.integers(1, 90, 12)
    difference, z = log_odds(inside, outside, everywhere)
    for token in range(12):
        alpha = PRIOR * everywhere[token] / sum(everywhere)
        terms = [math.log((y[token] + alpha) / (sum(y) + PRIOR - y[token] - alpha)) for y in (inside, outside)]
        variance = 1 / (inside[token] + alpha) + 1 / (outside[token] + alpha)
        assert difference[token] == pytest.approx(terms[0] - terms[1])
        assert z[token] == pytest.approx((terms[0] - terms[1]) / math.sqrt(variance))


def test_the_most_telling_tokens_come_first():
    inside, outside = np.full(50, 10), np.full(50, 10)
    inside[[7, 9]] = [200, 90]
    found = distinctive_tokens(inside, outside, inside + outside)
    assert [one.token for one in found] == [7, 9]
    assert found[0].z > found[1].z > 3
    assert [one.n_rows for one in found] == [200, 90]


def test_what_stands_everywhere_tells_nothing():
    same = RNG.integers(1, 40, 30)
    assert distinctive_tokens(same, same, 2 * same) == []
    assert distinctive_tokens(np.array([40]), np.array([90]), np.array([130])) == []
    assert distinctive_tokens(np.zeros(4, dtype=int), same[:4], same[:4]) == []
