"""Is there a valley between two jobs? Against windows counted by hand, and in worlds that have none."""

import numpy as np
import pytest
from scipy import stats

from headscope.analyses.jobs.clustering.valley import DEPTH, line_windows, side_windows, valley_p

RNG = np.random.default_rng(4)


def test_p_is_students_over_documents():
    """Of each document's rows of a side and the middle, against the ratio estimator written out."""
    inside = RNG.choice([0, 1, 2], 400, p=[0.5, 0.1, 0.4])
    documents = np.repeat(np.arange(20), 20)
    widths = np.array([4.0, 2.0, 4.0])
    p = []
    for side in (0, 2):
        value = np.where(inside == side, DEPTH * 2 / 4, np.where(inside == 1, -1.0, 0.0))
        asked = np.isin(inside, (side, 1))
        mean = value.sum() / asked.sum()
        left = np.array([(value - mean * asked)[documents == one].sum() for one in range(20)])
        error = np.hypot(np.sqrt(20 / 19 * (left**2).sum()) / asked.sum(), 1 / asked.sum())
        p.append(stats.t.sf(mean / error, 19))
    # The degrees of freedom are fewer where documents are of different sizes.
    assert valley_p((inside, widths), documents) == pytest.approx(max(p), rel=0.5)


def test_no_valley_no_small_p():
    """Rows spread evenly, and rows all in the middle."""
    documents = np.arange(600) % 30
    widths = np.full(3, 4.0)
    for shares in ([1 / 3, 1 / 3, 1 / 3], [0.1, 0.8, 0.1], [0.8, 0.15, 0.05]):
        assert valley_p((RNG.choice(3, 600, p=shares), widths), documents) > 0.9
    assert valley_p((np.repeat([0, 2], 300), widths), documents) < 1e-6
    # One document says nothing of others.
    assert valley_p((np.repeat([0, 2], 300), widths), np.zeros(600, dtype=int)) == 1.0


def test_windows_lie_about_the_valley():
    along = np.concatenate([RNG.normal(0, 0.1, 500), RNG.normal(1, 0.1, 200)])
    inside, widths = line_windows(along)(np.array([0.0, 0.5, 1.0, -3.0, 4.0]))
    assert inside.tolist() == [0, 1, 2, -1, -1]
    assert widths.tolist() == [4.0, 3.0, 4.0]


def test_sides_are_apart_by_the_tokens_between():
    tokens = np.repeat([-2, 1, 0], [50, 60, 0])
    windows = side_windows(tokens)
    assert windows is not None
    inside, widths = windows(np.array([-2, -1, 0, 1, 2]))
    assert inside.tolist() == [0, 1, 1, 2, -1]
    assert widths.tolist() == [1.0, 2.0, 1.0]
    assert side_windows(np.array([1, 2, 0])) is None


@pytest.mark.parametrize("spread", [2, 8])
def test_a_smooth_decay_to_both_sides_has_no_valley_at_the_row(spread):
    tokens = np.rint(RNG.laplace(0, spread, 4000)).astype(int)
    windows = side_windows(tokens[::2])
    assert windows is not None
    assert valley_p(windows(tokens[1::2]), np.arange(2000) % 40) > 0.5
    alone = tokens[tokens != 0]
    windows = side_windows(alone[::2])
    assert windows is not None
    found = windows(alone[1::2])
    assert valley_p(found, np.arange(len(found[0])) % 40) < (1e-6 if spread == 2 else 1.1)
