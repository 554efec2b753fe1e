"""The pairs of heads of two models, and the verdicts on them."""

from itertools import permutations

import numpy as np
import pytest

from headscope.analyses.compare.pairs import CHANGED, SAME, UNDECIDED, assigned, head_changes, judged, matches
from headscope.analyses.compare.sums import ChangeSums
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import interval_of, ratio_interval
from headscope.statistics.inference.estimate import difference


def sums_of(by_group, rows, *, second=None):
    layout = KindLayout("encoder", layers=1, heads=by_group.shape[1])
    return ChangeSums(
        kind="encoder", first=layout, second=second or layout, sums=by_group, rows=np.asarray(rows, dtype=np.int64)
    )


def test_verdicts_follow_the_margin():
    generator = np.random.default_rng(0)
    rows = np.full(40, 100)
    means = np.array([0.0, 0.002, 0.0101, 0.05])
    by_group = (means * generator.gamma(20, 1 / 20, (40, 4)) * rows[:, None])[:, None]
    sums = sums_of(by_group.reshape(40, 1, 4), rows)
    changes = head_changes(
        ChangeSums(
            kind="encoder",
            first=KindLayout("encoder", layers=1, heads=4),
            second=KindLayout("encoder", layers=1, heads=4),
            sums=sums.sums,
            rows=sums.rows,
        ),
        None,
        every_pair=False,
        seed=0,
    )
    assert list(changes.verdict) == [SAME, SAME, UNDECIDED, CHANGED]
    np.testing.assert_allclose(changes.change.value, by_group.sum(0)[0] / rows.sum())
    assert changes.first.tolist() == changes.second.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]


def test_few_documents_give_no_verdict():
    changes = head_changes(sums_of(np.ones((9, 3)), np.ones(9)), None, every_pair=False, seed=0)
    assert list(changes.verdict) == [None] * 3
    assert np.isnan(changes.change.low).all()


def test_a_permutation_is_found():
    order = np.random.default_rng(1).permutation(12)
    cost = np.random.default_rng(2).uniform(0.2, 0.6, (12, 12))
    cost[np.arange(12), order] = 0.01
    first, second = assigned(cost)
    assert first.tolist() == list(range(12))
    assert second.tolist() == order.tolist()


def test_random_weights_stand_beside_the_head_that_was_paired():
    """The first model is larger, so that only some of its heads have a partner, on the text and with random weights."""
    generator, rows = np.random.default_rng(7), np.full(40, 10)
    layouts = KindLayout("encoder", layers=1, heads=6), KindLayout("second encoder", layers=1, heads=3)
    text, random = (
        ChangeSums(kind="encoder", first=layouts[0], second=layouts[1], sums=sums, rows=rows)
        for sums in generator.uniform(0.1, 5.0, (2, 40, 6, 3))
    )
    changes = head_changes(text, random, every_pair=True, seed=0)
    cost = random.sums.sum(0) / rows.sum()
    kept = changes.first[:, 1].tolist()
    # Every way to give each of the paired heads one of the three random heads.
    ways = [[cost[head, partner] for head, partner in zip(kept, order)] for order in permutations(range(3))]
    np.testing.assert_allclose(changes.random_divergence, min(ways, key=sum))


def test_pairs_are_measured_on_documents_that_did_not_choose_them():
    """Without real pairs, chosen pairs look better than chance on the documents that chose them, not on others."""
    generator = np.random.default_rng(3)
    groups, heads = 200, 10
    sums = generator.uniform(0.0, 1.0, (groups, heads, heads))
    rows = np.ones(groups, dtype=np.int64)
    own, partner = assigned(sums.sum(0))
    flattered = sums[:, own, partner].mean()
    honest = judged(sums, rows, own, seed=0).mean()
    assert flattered < 0.48
    assert honest == pytest.approx(0.5, abs=0.02)


def test_a_match_is_below_both_nulls():
    """Heads that are near, that are no nearer than permuted heads, that are far, and that are both."""
    generator = np.random.default_rng(4)
    rows = np.full((40, 4), 100.0)
    scatter = generator.gamma(50, 1 / 50, (2, 40, 4))
    near = np.array([0.05, 0.05, 0.4, 0.4]) * scatter[0] * rows
    permuted = np.array([0.3, 0.05, 0.6, 0.4]) * scatter[1] * rows
    below = difference(near, rows, permuted, rows)
    found = matches(
        lambda level: interval_of(below, scale="real", confidence=level),
        lambda level: ratio_interval(near, rows, scale="positive", confidence=level),
        threshold=0.2,
    )
    assert list(found) == [True, False, False, False]
