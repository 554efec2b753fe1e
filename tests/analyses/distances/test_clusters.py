"""Clusters: a planted partition is found, a hand-worked tree is cut as by hand, relabeling heads permutes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from headscope.analyses.distances.clusters import (
    adjusted_rand,
    best_jaccard,
    cluster,
    cut,
    cuts_tried,
    medoid,
    root_of,
    shared,
    stability,
    tree_of,
)
from headscope.statistics.inference.confidence import resampling_weights
from support.mock_distances import divergences


def blobs(sizes, *, seed=0, far=5.0):
    """Divergences whose roots are distances between points of well separated groups, and the groups."""
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(len(sizes)), sizes)
    middle = far * np.column_stack([np.cos(2.4 * which), np.sin(2.4 * which)]) * (1 + which[:, None])
    points = middle + 0.2 * rng.normal(size=(len(which), 2))
    return np.linalg.norm(points[:, None] - points[None], axis=-1) ** 2, which


def test_a_tree_worked_by_hand():
    # Roots: heads 0 and 1 are 1 apart, head 2 is 3 from the one and 5 from the other: it joins at 4.
    divergence = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 25.0], [9.0, 25.0, 0.0]])
    assert tree_of(divergence)[:, 2] == pytest.approx([1.0, 4.0])
    found = cluster(divergence)
    assert found.labels.tolist() == [1, 1, 2]
    assert found.number == 2
    assert found.height == pytest.approx(2.5)
    # Silhouettes by hand: 1 - 1 / 3, 1 - 1 / 5, and 0 for a head on its own.
    assert found.silhouette == pytest.approx((2 / 3 + 4 / 5 + 0) / 3)


def test_planted_groups_are_found_and_numbered_by_size():
    divergence, which = blobs([7, 3, 12, 5, 9])
    found = cluster(divergence)
    assert found.number == 5
    assert adjusted_rand_score(which, found.labels) == 1
    assert np.bincount(found.labels)[1:].tolist() == [12, 9, 7, 5, 3]
    assert sorted(found.order.tolist()) == list(range(36))
    in_order = found.labels[found.order]
    assert (np.diff(in_order) != 0).sum() == 4  # each cluster's leaves stand together


def test_the_cut_is_that_of_the_best_silhouette():
    result = divergences(6, 8, layered=0.15, seed=4)
    found = cluster(result.divergence)
    root = root_of(result.divergence)
    scores = {}
    for number in range(4, 13):
        labels = AgglomerativeClustering(n_clusters=number, metric="precomputed", linkage="average").fit_predict(root)
        assert adjusted_rand_score(labels, cut(found.tree, number)) == 1
        scores[number] = silhouette_score(root, labels, metric="precomputed")
    assert found.number == max(scores, key=scores.get)
    assert found.silhouette == pytest.approx(max(scores.values()))


def test_the_tree_is_cut_between_what_joins_within_and_between_clusters():
    found = cluster(blobs([6, 6, 6, 6])[0])
    joins = np.sort(found.tree[:, 2])
    assert (joins < found.height).sum() == len(joins) - (found.number - 1)


@pytest.mark.parametrize(
    ("heads", "tried"),
    [
        (1, []),
        (2, []),
        (3, [2]),
        (4, [2, 3]),
        (13, list(range(2, 13))),
        (18, list(range(3, 13))),
        (24, list(range(4, 13))),
        (144, list(range(4, 13))),
    ],
)
def test_which_cuts_are_tried(heads, tried):
    assert list(cuts_tried(heads)) == tried


def test_few_heads_and_heads_that_are_the_same():
    for heads in (1, 2, 6):
        found = cluster(np.zeros((heads, heads)))
        assert found.labels.tolist() == [1] * heads
        assert found.number == 1
        assert np.isnan(found.silhouette)
        assert sorted(found.order.tolist()) == list(range(heads))
    pair = cluster(np.array([[0.0, 0.04], [0.04, 0.0]]))
    assert pair.height == pytest.approx(0.2)


def test_the_middle_head_of_a_cluster():
    divergence, which = blobs([5, 4], seed=8)
    members = np.flatnonzero(which == 1)
    means = {int(a): np.mean([divergence[a, b] for b in members if b != a]) for a in members}
    assert medoid(divergence, members) == min(means, key=means.get)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(3, 5), st.integers(2, 7))
def test_relabeling_heads_permutes_their_clusters(seed, layers, heads):
    divergence = divergences(layers, heads, layered=0.2, seed=seed).divergence
    order = np.random.default_rng(seed).permutation(len(divergence))
    plain, moved = cluster(divergence), cluster(divergence[np.ix_(order, order)])
    assert moved.number == plain.number
    assert adjusted_rand_score(plain.labels[order], moved.labels) == 1
    assert moved.silhouette == pytest.approx(plain.silhouette)
    assert moved.height == pytest.approx(plain.height)


def test_overlaps_by_hand():
    # {0 1 2} {3 4} against {0 1} {2 3 4}.
    both = shared(np.array([1, 1, 1, 2, 2]), np.array([1, 1, 2, 2, 2]))
    assert both.tolist() == [[2, 1], [0, 2]]
    assert best_jaccard(both) == pytest.approx([2 / 3, 2 / 3])


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_the_rand_index_is_scikit_learns(pairs):
    one, other = (np.unique(side, return_inverse=True)[1] + 1 for side in zip(*pairs))
    assert adjusted_rand(shared(one, other)) == pytest.approx(adjusted_rand_score(one, other))


def test_stability_is_that_of_clustering_resamples_one_by_one():
    result = divergences(4, 6, layered=0.12, noise=0.4, seed=2)
    found = cluster(result.divergence)
    jaccard, rand = stability(result, found, resamples=40, seed=9)
    jaccards, rands = [], []
    for counts in resampling_weights(12, draws=11, resamples=40, seed=9):
        divergence = sum(n * s for n, s in zip(counts, result.group_sums)) / (counts @ result.group_rows)
        again = AgglomerativeClustering(n_clusters=found.number, metric="precomputed", linkage="average").fit_predict(
            np.sqrt(divergence)
        )
        rands.append(adjusted_rand_score(found.labels, again))
        row = []
        for number in range(1, found.number + 1):
            own = set(np.flatnonzero(found.labels == number))
            others = [set(np.flatnonzero(again == other)) for other in set(again)]
            row.append(max(len(own & other) / len(own | other) for other in others))
        jaccards.append(row)
    assert jaccard[0] == pytest.approx(np.mean(jaccards, axis=0))
    assert jaccard[1:] == pytest.approx(np.percentile(jaccards, [2.5, 97.5], axis=0))
    assert rand == pytest.approx([np.mean(rands), *np.percentile(rands, [2.5, 97.5])])
    assert 0.3 < rand[0] < 1  # documents that differ shake the clusters


def test_groups_far_apart_are_stable():
    result = divergences(4, 6, points=np.repeat(np.eye(4)[:, :2] * 3 + np.arange(4)[:, None], 6, axis=0)
                         + 0.05 * np.random.default_rng(0).normal(size=(24, 2)))  # fmt: skip
    found = cluster(result.divergence)
    assert found.number == 4
    jaccard, rand = stability(result, found, resamples=50)
    assert jaccard == pytest.approx(np.ones((3, 4)))
    assert rand == pytest.approx(np.ones(3))


def test_fewer_than_ten_documents_tell_nothing_of_stability():
    result = divergences(3, 4, groups=9)
    jaccard, rand = stability(result, cluster(result.divergence))
    assert np.isnan(jaccard).all()
    assert np.isnan(rand).all()
