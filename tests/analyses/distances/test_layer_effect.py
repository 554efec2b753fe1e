"""The effect of layers: means as a loop makes them, planted layers found, p even where there is nothing to find."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, ttest_1samp

from headscope.analyses.distances.compute import ONE_HEAD, ONE_LAYER, layer_effect, permutation_p
from headscope.statistics.inference.confidence import resampling_weights
from support.mock_distances import ROWS, divergences


def means(divergence, layer_of):
    sides = {True: [], False: []}
    for a, b in combinations(range(len(divergence)), 2):
        sides[layer_of[a] == layer_of[b]].append(divergence[a][b])
    return np.mean(sides[True]), np.mean(sides[False])


def test_means_are_those_of_a_loop():
    result = divergences(3, 4, layered=0.2)
    found = layer_effect(result, permutations=50)
    within, between = means(result.divergence, [a // 4 for a in range(12)])
    assert (found["within"], found["between"]) == pytest.approx((within, between))
    assert found["effect"] == pytest.approx(between - within)
    assert found["n_rows"] == 12 * ROWS
    assert found["reason"] is None


def test_the_interval_is_students_t_over_documents():
    result = divergences(3, 4, layered=0.1, noise=0.3)
    found = layer_effect(result, permutations=50)
    effects, resampled = [], []
    for counts in np.eye(12):
        within, between = means(result.resampled(counts), [a // 4 for a in range(12)])
        effects.append(between - within)
    assert (result.group_rows == result.group_rows[0]).all()  # else the mean is weighted
    ends = ttest_1samp(effects, 0).confidence_interval()
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((ends.low, ends.high))
    # Resampling the documents says nearly the same, a little narrower.
    for counts in resampling_weights(12, resamples=2000, seed=4):
        within, between = means(result.resampled(counts), [a // 4 for a in range(12)])
        resampled.append(between - within)
    low, high = np.percentile(resampled, [2.5, 97.5])
    assert 1 < (found["ci_high"] - found["ci_low"]) / (high - low) < 1.35


def test_p_of_a_small_model_is_that_of_all_deals():
    result = divergences(2, 2, seed=1, noise=0.5)
    layer_of = np.array([0, 0, 1, 1])
    within, between = means(result.divergence, layer_of)
    every = [means(result.divergence, layer_of[list(order)]) for order in permutations(range(4))]
    exact = np.mean([b - w >= between - within - 1e-12 for w, b in every])
    assert exact in (pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(1))
    assert permutation_p(result.divergence, 2, permutations=20_000) == pytest.approx(exact, abs=0.015)


def test_deals_that_differ_only_in_the_order_of_layers_are_ties():
    # One of three ways to split four heads into two layers is the best: a third of all deals, never fewer.
    divergence = np.full((4, 4), 0.3) / 3 + 0.1
    divergence[:2, :2] = divergence[2:, 2:] = 0.1 / 3
    np.fill_diagonal(divergence, 0)
    assert permutation_p(divergence, 2, permutations=9_999) == pytest.approx(1 / 3, abs=0.02)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_planted_layers_are_found(seed):
    corners = np.repeat([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]], 6, axis=0)
    points = corners + 0.3 * np.random.default_rng(seed).normal(size=(24, 2))
    found = layer_effect(divergences(4, 6, points=points, seed=seed), permutations=999)
    assert found["effect"] > 0
    assert found["ci_low"] > 0
    assert found["p"] == pytest.approx(1 / 1000)


def test_p_is_even_where_layers_mean_nothing():
    p = []
    for seed in range(200):
        divergence = divergences(4, 4, groups=1, seed=seed).divergence
        p.append(permutation_p(divergence, 4, permutations=199))
    assert kstest(p, "uniform").pvalue > 0.01
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.045)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_what_heads_and_layers_are_called_does_not_matter(seed):
    """Heads in another order within their layers, and layers in another order, give the same means and interval."""
    rng = np.random.default_rng(seed)
    result = divergences(3, 4, layered=0.2, seed=seed)
    order = np.concatenate([4 * layer + rng.permutation(4) for layer in rng.permutation(3)])
    moved = replace(
        result, divergence=result.divergence[np.ix_(order, order)], group_sums=result.group_sums[:, order][:, :, order]
    )
    one, other = layer_effect(result, permutations=9), layer_effect(moved, permutations=9)
    assert (one["within"], one["between"], one["ci_low"], one["ci_high"]) == pytest.approx(
        (other["within"], other["between"], other["ci_low"], other["ci_high"])
    )


def test_the_same_seed_gives_the_same_p_however_it_is_cut(monkeypatch):
    divergence = divergences(3, 4, seed=5).divergence
    whole = permutation_p(divergence, 3, permutations=500, seed=2)
    monkeypatch.setattr("headscope.analyses.distances.compute._CELLS_AT_ONCE", 100)
    assert permutation_p(divergence, 3, permutations=500, seed=2) == whole
    assert permutation_p(divergence, 3, permutations=500, seed=3) != whole


def test_one_layer_or_one_head_a_layer_is_null_with_the_reason():
    one_layer = layer_effect(divergences(1, 5))
    assert one_layer["reason"] == ONE_LAYER == "there is one layer, and no pair of heads of different layers"
    pairs = [divergences(1, 5).divergence[a, b] for a, b in combinations(range(5), 2)]
    assert one_layer["within"] == pytest.approx(np.mean(pairs))
    one_head = layer_effect(divergences(5, 1))
    assert one_head["reason"] == ONE_HEAD == "each layer has one head, and no pair of heads is of one layer"
    assert one_head["between"] > 0
    assert np.isnan([one_layer["between"], one_head["within"]]).all()
    for found in (one_layer, one_head):
        assert np.isnan([found["effect"], found["ci_low"], found["ci_high"], found["p"]]).all()
        assert found["n_rows"] == 12 * ROWS


def test_fewer_than_ten_documents_have_a_p_but_no_interval():
    found = layer_effect(divergences(3, 4, groups=9, layered=0.4), permutations=99)
    assert np.isnan([found["ci_low"], found["ci_high"]]).all()
    assert found["p"] == pytest.approx(0.01)
