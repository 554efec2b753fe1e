"""Selection of the best of many: plain loops, hand-made cases, and what it promises in simulations."""

import numpy as np
import pytest

from headscope.statistics.confidence import bootstrap_ratio
from headscope.statistics.selection import crossed, halves, held_out, same_data


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
    chosen = held_out(hits, counts, by=by, splits=7, resamples=30, seed=seed)
    accuracy, named, share = loop(hits, counts, halves(len(hits), splits=7, seed=seed), by)
    np.testing.assert_allclose(chosen.accuracy.value, accuracy, atol=1e-12)
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
    # The first split is that of `crossed`.
    np.testing.assert_array_equal(first[:1], halves(11, splits=1, seed=3))


@pytest.mark.parametrize("by", [None, 1])
def test_same_data_is_the_best_of_all(by):
    hits, counts = made_up(groups=24, seed=5)
    counts[:, 3] = hits[:, :, 3] = 0
    chosen = same_data(hits, counts, by=by, seed=2)
    for item in range(3):
        sums = hits[:, :, item if by is None else by].sum(0).tolist()
        best = sums.index(max(sums))
        assert chosen.candidate[item] == best
        own = bootstrap_ratio(hits[:, best, item], counts[:, item], seed=2)
        assert chosen.accuracy.value[item] == hits[:, best, item].sum() / counts[:, item].sum()
        assert (chosen.accuracy.low[item], chosen.accuracy.high[item]) == (own.low, own.high)
    assert chosen.candidate[3] == -1
    assert np.isnan([chosen.accuracy.value[3], *chosen.share]).all()


@pytest.mark.parametrize("seed", range(3))
def test_crossed_is_the_plain_loop(seed):
    hits, counts = made_up(seed=seed)
    counts[:, 3] = hits[:, :, 3] = 0
    only = int(np.flatnonzero(counts[:, 2])[0])  # all questions of item 2 in one document
    counts[np.arange(len(counts)) != only, 2] = 0
    hits[np.arange(len(counts)) != only, :, 2] = 0
    first = halves(len(hits), splits=1, seed=seed)[0]
    scored = crossed(hits, counts, seed=seed)
    for group in range(len(hits)):
        for item in range(2):
            sums = hits[first != first[group]][:, :, item].sum(0).tolist()
            assert scored[group, item] == hits[group, sums.index(max(sums)), item]
    # The other half has no question to choose by: the best of its own, so that a test against it gains nothing.
    assert scored[:, 2].sum() == hits[only, :, 2].max()
    assert not scored[:, 3].any()


def test_fewer_than_ten_documents_have_no_interval():
    hits, counts = made_up(groups=9, seed=1)
    for choose in (held_out, same_data):
        chosen = choose(hits, counts)
        assert np.isfinite(chosen.accuracy.value).all()
        assert np.isnan([chosen.accuracy.low, chosen.accuracy.high]).all()
    # Ten documents, but only nine of them have a question of the first item.
    hits, counts = made_up(groups=12, seed=1)
    counts += 1
    counts[:3, 0] = hits[:3, :, 0] = 0
    for choose in (held_out, same_data):
        chosen = choose(hits, counts)
        assert np.isnan(chosen.accuracy.low).tolist() == [True, False, False, False]
        assert np.isnan(chosen.accuracy.high).tolist() == [True, False, False, False]


def test_nothing_can_be_held_out_of_one_document():
    hits, counts = made_up(groups=12, seed=2)
    counts[1:, 0] = hits[1:, :, 0] = 0
    counts[0, 0], hits[0, :, 0] = 5, [1, 2, 3, 4, 5]
    chosen = held_out(hits, counts)
    assert chosen.candidate[0] == -1
    assert np.isnan([chosen.accuracy.value[0], chosen.accuracy.low[0], chosen.share[0]]).all()
    assert (chosen.candidate[1:] >= 0).all()
    alone = held_out(hits[:1], counts[:1])
    assert alone.candidate.tolist() == [-1] * 4


def test_a_candidate_that_is_always_best_is_chosen_always_with_the_documents_interval():
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 6, size=(60, 1))
    hits = rng.binomial(counts[:, None], np.array([0.1, 0.8, 0.2])[None, :, None])
    chosen = held_out(hits, counts, seed=1)
    same = same_data(hits, counts, seed=1)
    assert chosen.candidate.tolist() == same.candidate.tolist() == [1]
    assert chosen.share.tolist() == [1.0]
    assert chosen.accuracy.value[0] == pytest.approx(same.accuracy.value[0], abs=1e-12)
    width = same.accuracy.high[0] - same.accuracy.low[0]
    assert chosen.accuracy.low[0] == pytest.approx(same.accuracy.low[0], abs=0.15 * width)
    assert chosen.accuracy.high[0] == pytest.approx(same.accuracy.high[0], abs=0.15 * width)


def test_items_in_several_parts_are_the_same(monkeypatch):
    hits, counts = made_up(groups=20, items=7, seed=4)
    whole = held_out(hits, counts, splits=5, resamples=40)
    monkeypatch.setattr("headscope.statistics.selection._NUMBERS_AT_ONCE", 2 * 40 * 5 * 2)
    parts = held_out(hits, counts, splits=5, resamples=40)
    for name in ("value", "low", "high"):
        np.testing.assert_array_equal(getattr(parts.accuracy, name), getattr(whole.accuracy, name))
    np.testing.assert_array_equal(parts.candidate, whole.candidate)
    np.testing.assert_array_equal(parts.share, whole.share)


def test_the_best_of_pure_noise():
    """All heads are right half the time: the best on the same data looks better, the held-out one does not."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 6, size=(40, 300))
    hits = rng.binomial(counts[:, None], 0.5, size=(40, 100, 300))
    same = same_data(hits, counts).accuracy.value
    held = held_out(hits, counts, resamples=2).accuracy.value
    assert same.mean() > 0.6
    assert (same > 0.5).all()
    error = held.std() / np.sqrt(len(held))
    assert abs(held.mean() - 0.5) < 3 * error < 0.01


def test_coverage_where_one_candidate_is_truly_best():
    """The accuracy of the best candidate, with documents that differ, lies inside in 90 to 98% of runs."""
    rng = np.random.default_rng(1)
    runs, documents = 400, 60
    truth = np.array([0.6, 0.4, 0.3, 0.35])
    counts = rng.integers(1, 8, size=(documents, runs))
    level = np.clip(truth[None, :, None] + 0.1 * rng.normal(size=(documents, 1, runs)), 0, 1)
    hits = rng.binomial(counts[:, None], level)
    chosen = held_out(hits, counts, resamples=400, seed=2)
    inside = (chosen.accuracy.low < truth[0]) & (truth[0] < chosen.accuracy.high)
    assert 0.90 <= inside.mean() <= 0.98
    assert (chosen.candidate == 0).mean() > 0.98
    # Where nothing is best, choosing the best on the same data covers its own luck, not the truth.
    noise = rng.binomial(counts[:, None], 0.5, size=(documents, 50, runs))
    same, held = same_data(noise, counts), held_out(noise, counts, resamples=400)
    missed = (same.accuracy.low < 0.5) & (same.accuracy.high > 0.5)
    assert missed.mean() < 0.6
    covered = (held.accuracy.low < 0.5) & (held.accuracy.high > 0.5)
    assert covered.mean() > 0.9
