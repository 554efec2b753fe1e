"""Selection of the best of many: plain loops, hand-made cases, and what it promises in simulations."""

import numpy as np
import pytest

from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from headscope.statistics.inference.selection import beside_rival, halves, held_out, same_data


def made_up(groups=14, candidates=5, items=4, *, seed=0, most=4):
    """Few questions a document, so that candidates tie and some documents have none."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most, size=(groups, items))
    return rng.binomial(counts[:, None], rng.uniform(0.2, 0.8, size=(1, candidates, items))), counts


def loop(hits, counts, first, by=None):
    """Held-out selection split by split, item by item."""
    _, candidates, items = hits.shape
    accuracy, named, share = [], [], []
    for item in range(items):
        scores, picks = [], []
        for split in first:
            left = [g for g in range(len(hits)) if split[g]]
            right = [g for g in range(len(hits)) if not split[g]]
            if not sum(counts[g, item] for g in left) or not sum(counts[g, item] for g in right):
                continue
            total = 0
            for chosen_on, scored_on in ((left, right), (right, left)):
                judge = item if by is None else by
                sums = [sum(hits[g, c, judge] for g in chosen_on) for c in range(candidates)]
                best = sums.index(max(sums))
                picks.append(best)
                total += sum(hits[g, best, item] for g in scored_on)
            scores.append(total / counts[:, item].sum())
        accuracy.append(np.mean(scores) if scores else np.nan)
        judge = item if by is None else by
        order = sorted(range(candidates), key=lambda c: (-picks.count(c), -hits[:, c, judge].sum(), c))
        named.append(order[0] if picks else -1)
        share.append(picks.count(order[0]) / len(picks) if picks else np.nan)
    return np.array(accuracy), named, np.array(share)


@pytest.mark.parametrize("by", [None, 0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_held_out_is_the_plain_loop(seed, by):
    hits, counts = made_up(seed=seed)
    hits[:, 3] = hits[:, 1]  # exact ties
    chosen = held_out(hits, counts, by=by, splits=7, seed=seed)
    accuracy, named, share = loop(hits, counts, halves(len(hits), splits=7, seed=seed), by)
    np.testing.assert_allclose(chosen.held_out.value, accuracy, atol=1e-12)
    by_split = chosen.scored.sum(1) / counts.sum(0)
    np.testing.assert_allclose(np.nanmean(by_split, axis=0), accuracy, atol=1e-12)
    assert chosen.candidate.tolist() == named
    np.testing.assert_allclose(chosen.share, share, atol=1e-12)
    assert 3 not in named  # the first of equals


def test_halves_are_halves_and_seeded():
    first = halves(11, splits=50, seed=3)
    assert (first.sum(1) == 5).all()
    np.testing.assert_array_equal(first, halves(11, splits=50, seed=3))
    assert not np.array_equal(first, halves(11, splits=50, seed=4))
    assert len({row.tobytes() for row in first}) > 40
    assert 15 < first[:, 0].sum() < 32


@pytest.mark.parametrize("by", [None, 1])
def test_same_data_is_the_best_of_all(by):
    hits, counts = made_up(groups=24, seed=5)
    counts[:, 3] = hits[:, :, 3] = 0
    chosen = same_data(hits, counts, by=by)
    for item in range(3):
        sums = hits[:, :, item if by is None else by].sum(0).tolist()
        best = sums.index(max(sums))
        assert chosen.candidate[item] == best
        own = ratio_interval(hits[:, best, item], counts[:, item], scale="share")
        assert chosen.all_documents.value[item] == hits[:, best, item].sum() / counts[:, item].sum()
        np.testing.assert_allclose(
            [chosen.all_documents.low[item], chosen.all_documents.high[item]], [own.low, own.high]
        )
    assert chosen.candidate[3] == -1
    assert np.isnan([chosen.all_documents.value[3], *chosen.share, *chosen.held_out.value]).all()


def test_the_named_head_has_its_own_accuracy_not_the_selections():
    """Half the splits take a head that is right always, half one that is right never: the selection is between."""
    counts = np.ones((20, 1), dtype=int)
    hits = np.zeros((20, 2, 1), dtype=int)
    hits[:10, 0] = hits[10:, 1] = 1
    hits[10, 0] = 1
    chosen = held_out(hits, counts, seed=3)
    assert chosen.candidate.tolist() == [0]
    assert chosen.all_documents.value[0] == 11 / 20
    # Whichever half has more of its own documents chooses a head that the other half has fewer of.
    assert chosen.held_out.value[0] < 0.5
    assert 0.5 < chosen.share[0] < 1


def test_a_margin_on_the_same_data_is_the_paired_difference_of_the_two_that_are_named():
    """The issue's table subtracted a mean over selections from one offset's accuracy."""
    hits, counts = made_up(groups=30, seed=8, most=7)
    rivals, _ = made_up(groups=30, candidates=3, seed=9, most=7)
    rivals = np.minimum(rivals, counts[:, None])
    counts[:, 3] = hits[:, :, 3] = 0
    rivals[:, :, 3] = 0
    chosen, rival = same_data(hits, counts), same_data(rivals, counts)
    contest = beside_rival(hits, chosen, rivals, rival, counts)
    found = contest.margin
    assert contest.rival.tolist() == rival.candidate.tolist()
    for item in range(3):
        one, other = hits[:, chosen.candidate[item], item], rivals[:, rival.candidate[item], item]
        assert found.value[item] == pytest.approx((one - other).sum() / counts[:, item].sum())
        own = difference_interval(one, counts[:, item], other, counts[:, item], answers=True)
        np.testing.assert_allclose([found.low[item], found.high[item]], [own.low, own.high])
    assert np.isnan([found.value[3], found.low[3], found.high[3]]).all()


def test_fewer_than_ten_documents_have_no_interval():
    hits, counts = made_up(groups=9, seed=1)
    for choose, value in (
        (held_out, "held_out"),
        (held_out, "all_documents"),
        (held_out, "value"),
        (same_data, "all_documents"),
    ):
        found = getattr(choose(hits, counts), value)
        assert np.isfinite(found.value).all()
        assert np.isnan([found.low, found.high]).all()
    # Ten documents, but only nine of them have a question of the first item.
    hits, counts = made_up(groups=12, seed=1)
    counts += 1
    counts[:3, 0] = hits[:3, :, 0] = 0
    for choose, value in (
        (held_out, "held_out"),
        (held_out, "all_documents"),
        (held_out, "value"),
        (same_data, "all_documents"),
    ):
        found = getattr(choose(hits, counts), value)
        assert np.isnan(found.low).tolist() == [True, False, False, False]
        assert np.isnan(found.high).tolist() == [True, False, False, False]


def test_nothing_can_be_held_out_of_one_document():
    hits, counts = made_up(groups=12, seed=2)
    counts[1:, 0] = hits[1:, :, 0] = 0
    counts[0, 0], hits[0, :, 0] = 5, [1, 2, 3, 4, 5]
    chosen = held_out(hits, counts)
    assert chosen.candidate[0] == -1
    for found in (chosen.value, chosen.all_documents, chosen.held_out):
        assert np.isnan([found.value[0], found.low[0], found.high[0], chosen.share[0]]).all()
    assert np.isnan(chosen.scored[:, :, 0]).all()
    assert (chosen.candidate[1:] >= 0).all()
    alone = held_out(hits[:1], counts[:1])
    assert alone.candidate.tolist() == [-1] * 4


def test_a_candidate_that_is_always_best_is_chosen_always_and_is_the_selection():
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 6, size=(60, 1))
    hits = rng.binomial(counts[:, None], np.array([0.1, 0.8, 0.2])[None, :, None])
    chosen, same = held_out(hits, counts, seed=1), same_data(hits, counts)
    assert chosen.candidate.tolist() == same.candidate.tolist() == [1]
    assert chosen.share.tolist() == [1.0]
    for name in ("value", "low", "high"):
        expected = getattr(same.all_documents, name)
        for found in (chosen.value, chosen.all_documents, chosen.held_out):
            np.testing.assert_allclose(getattr(found, name), expected)


def test_the_best_of_pure_noise():
    """All heads are right half the time: the best on the same data looks better, the held-out one does not."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 6, size=(40, 300))
    hits = rng.binomial(counts[:, None], 0.5, size=(40, 100, 300))
    same = same_data(hits, counts).all_documents.value
    held = held_out(hits, counts).held_out.value
    assert same.mean() > 0.6
    assert (same > 0.5).all()
    error = held.std() / np.sqrt(len(held))
    assert abs(held.mean() - 0.5) < 3 * error < 0.01


def test_coverage_of_the_selection_and_of_the_named_head():
    """Where one head is best its own accuracy is covered; among equal heads the selection's is, the paper's is not."""
    rng = np.random.default_rng(1)
    runs, documents = 400, 60
    truth = np.array([0.6, 0.4, 0.3, 0.35])
    counts = rng.integers(1, 8, size=(documents, runs))
    level = np.clip(truth[None, :, None] + 0.1 * rng.normal(size=(documents, 1, runs)), 0, 1)
    hits = rng.binomial(counts[:, None], level)
    chosen = held_out(hits, counts, seed=2)
    for found in (chosen.all_documents, chosen.held_out):
        inside = (found.low < truth[0]) & (truth[0] < found.high)
        assert 0.93 <= inside.mean() <= 0.975
    assert (chosen.candidate == 0).mean() > 0.98
    noise = rng.binomial(counts[:, None], 0.5, size=(documents, 50, runs))
    same, held = same_data(noise, counts).all_documents, held_out(noise, counts).held_out
    assert ((same.low < 0.5) & (same.high > 0.5)).mean() < 0.6
    assert ((held.low < 0.5) & (held.high > 0.5)).mean() > 0.93
