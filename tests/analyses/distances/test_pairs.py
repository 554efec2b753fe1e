"""The table of pairs: every pair once with its interval, and the matrix it came from."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, skew, t

from headscope.analyses.distances.tables import HEAD_DISTANCES, matrix_of, nearest_pairs, pair_table
from support.mock_distances import ROWS, divergences


@pytest.fixture(scope="module")
def results():
    return [divergences(2, 3, noise=0.3), divergences(3, 2, kind="decoder", noise=0.3, seed=1)]


def test_every_pair_of_a_kind_once(results):
    table = pair_table(results)
    assert list(table.columns) == HEAD_DISTANCES.names
    assert len(table) == 2 * 15
    assert (table["kind_a"] == table["kind_b"]).all()
    own = table[table["kind_a"] == "decoder"].to_dict("records")
    for row in own:
        a, b = ((row[f"layer_{s}"] - 1) * 2 + row[f"head_{s}"] - 1 for s in "ab")
        assert a < b
        assert row["divergence"] == results[1].divergence[a, b]
        assert row["n_rows"] == 12 * ROWS
    assert len({(r["layer_a"], r["head_a"], r["layer_b"], r["head_b"]) for r in own}) == 15


def test_intervals_are_students_t_over_documents_on_the_logarithm(results):
    table = pair_table(results)
    alone = np.array([results[0].resampled(counts)[1, 4] for counts in np.eye(12)])
    assert (results[0].group_rows == results[0].group_rows[0]).all()
    error = alone.std(ddof=1) / math.sqrt(12) / alone.mean()
    reach = t.ppf(0.975, 11) * error
    # The documents are of one size and their tail is above: the interval reaches further there.
    skewness = skew(alone) / math.sqrt(12)
    z = norm.ppf(0.975)
    further = 1 + skewness * (1 + 9 / math.sqrt(11)) * (2 * z * z + 1) / (6 * z) - z * error / 2
    assert further > 1
    # Heads 1 and 4 from 0 are 1-2 and 2-2.
    row = table[(table["kind_a"] == "encoder") & (table["layer_a"] == 1) & (table["head_a"] == 2)]
    row = row[(row["layer_b"] == 2) & (row["head_b"] == 2)].iloc[0]
    ends = alone.mean() * math.exp(-reach), alone.mean() * math.exp(reach * further)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends)


def test_fewer_than_ten_documents_have_no_interval():
    table = pair_table([divergences(2, 2, groups=9)])
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)
    assert table["divergence"].notna().all()


def test_the_matrix_comes_back_in_any_order(results):
    table = pair_table(results).sample(frac=1, random_state=0)
    heads = [(layer, head) for layer in (1, 2, 3) for head in (1, 2)]
    assert np.array_equal(matrix_of(table, heads, kind="decoder"), results[1].divergence)
    order = [3, 0, 5]
    part = matrix_of(table, [heads[at] for at in order], kind="decoder")
    assert np.array_equal(part, results[1].divergence[np.ix_(order, order)])
    assert matrix_of(table, heads[:1], kind="decoder").tolist() == [[0.0]]


def test_pairs_that_are_lacking_are_nan(results):
    found = matrix_of(pair_table(results), [(1, 1), (9, 9)], kind="encoder")
    assert np.isnan([found[0, 1], found[1, 0]]).all()
    assert found[1, 1] == 0


def test_nearest_pairs(results):
    table = pair_table(results)
    near = nearest_pairs(table, kind="encoder", most=4)
    own = table[table["kind_a"] == "encoder"]["divergence"]
    assert near["divergence"].tolist() == sorted(own)[:4]
    assert set(near["kind_a"]) == {"encoder"}


def test_one_head_has_no_pair():
    assert pair_table([divergences(1, 1)]).empty
    assert list(pair_table([]).columns) == HEAD_DISTANCES.names
    pd.testing.assert_frame_equal(nearest_pairs(pair_table([]), kind="encoder"), pair_table([]))
