"""Means of selected heads, ratios of effects and rank correlations, against worlds whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.derived import effect_ratio_interval, rank_correlation
from headscope.statistics.inference.selection import beside_rival, halves, held_out
from support.benchmarks import benchmark


def made_up(*, groups=14, candidates=5, items=4, seed=0, most=4):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most, size=(groups, items))
    return rng.binomial(counts[:, None], rng.uniform(0.2, 0.8, size=(1, candidates, items))), counts


def picks(hits, counts, first, item, judge):
    """Return for each split and half what the half chooses, and the documents of the other, which score it."""
    for split in first:
        sides = [[g for g in range(len(hits)) if split[g] == side] for side in (True, False)]
        if all(sum(counts[g, item] for g in side) for side in sides):
            for chosen_on, scored_on in (sides, sides[::-1]):
                sums = [sum(hits[g, c, judge] for g in chosen_on) for c in range(hits.shape[1])]
                yield sums.index(max(sums)), scored_on


@pytest.mark.parametrize("by", [None, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_value_is_the_plain_loop(seed, by):
    hits, counts = made_up(seed=seed)
    chosen = held_out(hits, counts, by=by, splits=7, seed=seed)
    first = halves(len(hits), splits=7, seed=seed)
    for item in range(counts.shape[1]):
        named = int(chosen.candidate[item])
        made = picks(hits, counts, first, item, item if by is None else by)
        scored = [g for pick, documents in made if pick == named for g in documents]
        right = sum(hits[g, named, item] for g in scored)
        assert chosen.value.value[item] == pytest.approx(right / sum(counts[g, item] for g in scored))
        assert chosen.scores[:, :, item].sum(0).tolist() == [scored.count(g) for g in range(len(hits))]


@pytest.mark.parametrize("seed", range(3))
def test_beside_a_rival_is_the_plain_loop(seed):
    hits, counts = made_up(seed=seed)
    rivals = np.minimum(made_up(candidates=3, seed=seed + 9)[0], counts[:, None])
    chosen, rival = (held_out(each, counts, splits=7, seed=seed) for each in (hits, rivals))
    found = beside_rival(hits, chosen, rivals, rival, counts)
    first = halves(len(hits), splits=7, seed=seed)
    for item in range(counts.shape[1]):
        named = int(chosen.candidate[item])
        both = list(zip(*(picks(each, counts, first, item, item) for each in (hits, rivals)), strict=True))
        pairs = [(other, documents) for (pick, documents), (other, _) in both if pick == named]
        weight = [sum(len(documents) for pick, documents in pairs if pick == each) for each in range(3)]
        best = weight.index(max(weight))
        assert found.rival[item] == best
        scored = [g for pick, documents in pairs if pick == best for g in documents]
        asked = sum(counts[g, item] for g in scored)
        right = sum(hits[g, named, item] for g in scored) / asked
        beside = sum(rivals[g, best, item] for g in scored) / asked
        assert found.value.value[item] == pytest.approx(right)
        assert found.baseline.value[item] == pytest.approx(beside)
        assert found.margin.value[item] == pytest.approx(right - beside)


def test_the_best_of_equal_heads_is_flattered_half_as_much():
    """The same heads, the same documents: what the old number was off by, and what the new one is."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 21, size=(30, 300))
    hits = rng.binomial(counts[:, None], 0.5, size=(30, 100, 300))
    chosen = held_out(hits, counts)
    own, value = chosen.all_documents.value.mean() - 0.5, chosen.value.value.mean() - 0.5
    assert own > 0.05
    assert 0 < value < 0.55 * own


@pytest.fixture(scope="module")
def worlds():
    return benchmark("selection_worlds")


@pytest.mark.slow
@pytest.mark.parametrize("documents", [10, 30])
@pytest.mark.parametrize("heads", ["equal heads", "near ties", "a clear best"])
def test_intervals_hold_the_head_that_is_named(worlds, heads, documents):
    """Among equal heads the interval on all documents, which sentences had, holds in fewer than 80 of 100 runs."""
    made = worlds.cells(heads, "equal offsets", "mild", documents, runs=300)
    found = {cell.interval: cell for cell in made}
    for name in ("cross-fitted", "beside the offset", "margin"):
        assert found[name].kept, found
    if heads == "equal heads":
        assert found["all documents"].coverage < 0.8
        assert found["cross-fitted"].bias < 0.6 * found["all documents"].bias


def test_a_cell_that_holds_too_seldom_is_said_to(worlds):
    cell = worlds.Cell("cross-fitted", "equal heads, mild", 30, 2000, 0.90, 0.0, 0.1)
    assert cell.kept is False
    assert worlds.Cell("margin", "", 30, 2000, 0.92, 0.0, 0.1).kept is True
    assert worlds.Cell("all documents", "", 30, 2000, 0.4, 0.0, 0.1).kept is None


def effects(generator, share, *, documents, runs, noise, whole=0.1):
    """Sums of two effects over documents of 1 to 8 inputs: `whole` on average, and a share of it, with common noise."""
    counts = generator.integers(1, 9, size=(documents, 1))
    of_document = generator.normal(whole, noise, size=(documents, runs))
    wholes = counts * of_document + np.sqrt(counts) * generator.normal(0, noise, size=(documents, runs))
    parts = share * wholes + np.sqrt(counts) * generator.normal(0, noise / 2, size=(documents, runs))
    return parts, wholes, counts


@pytest.mark.parametrize("share", [0.0, 0.4, 0.95, 1.0])
@pytest.mark.parametrize(("documents", "noise"), [(12, 0.05), (40, 0.1), (96, 0.2)])
def test_the_interval_holds_the_true_share_as_often_as_it_says(share, documents, noise):
    generator = np.random.default_rng(int(1000 * share) + documents)
    parts, wholes, counts = effects(generator, share, documents=documents, runs=4000, noise=noise)
    interval = effect_ratio_interval(parts, wholes, counts)
    known = np.isfinite(interval.value)
    assert known.mean() > 0.9
    holds = (interval.low <= share) & (share <= interval.high)
    assert 0.93 <= holds[known].mean() <= 0.97
    assert (interval.low[known] <= interval.value[known]).all()
    assert (interval.value[known] <= interval.high[known]).all()


def test_documents_of_one_size_by_fiellers_formula():
    """The two ends solve (part - r whole)^2 = t^2 var(part - r whole) / n."""
    generator = np.random.default_rng(5)
    parts, wholes, _ = effects(generator, 0.7, documents=30, runs=1, noise=0.1)
    interval = effect_ratio_interval(parts[:, 0], wholes[:, 0], np.ones(30))
    assert interval.value == pytest.approx(parts.mean() / wholes.mean())
    t = stats.t.ppf(0.975, 29)
    for end in (interval.low, interval.high):
        left = parts[:, 0] - end * wholes[:, 0]
        assert abs(left.mean()) == pytest.approx(t * left.std(ddof=1) / np.sqrt(30), rel=1e-6)


def test_the_bootstrap_of_documents_says_the_same():
    generator = np.random.default_rng(6)
    parts, wholes, counts = effects(generator, 0.7, documents=200, runs=1, noise=0.1)
    interval = effect_ratio_interval(parts, wholes, counts)
    drawn = generator.integers(0, 200, size=(4000, 200))
    shares = parts[drawn, 0].sum(1) / wholes[drawn, 0].sum(1)
    low, high = np.quantile(shares, [0.025, 0.975])
    assert interval.low[0] == pytest.approx(low, abs=0.1 * (high - low))
    assert interval.high[0] == pytest.approx(high, abs=0.1 * (high - low))


def test_nothing_is_said_where_the_whole_may_be_nothing():
    generator = np.random.default_rng(7)
    parts, wholes, counts = effects(generator, 0.5, documents=40, runs=3, noise=0.05)
    wholes[:, 0] -= wholes[:, 0].sum() * counts[:, 0] / counts.sum()
    wholes[:, 1] *= -1
    interval = effect_ratio_interval(parts, wholes, counts)
    for values in (interval.value, interval.low, interval.high):
        assert np.isnan(values).tolist() == [True, True, False]
    few = effect_ratio_interval(*(each[: FEWEST_DOCUMENTS - 1] for each in (parts, wholes, counts)))
    assert np.isnan(few.value).all()


def test_what_keeps_all_of_the_effect_keeps_it_in_every_document():
    wholes = np.random.default_rng(8).uniform(0.1, 1, size=(20, 2))
    interval = effect_ratio_interval(wholes * [1, 0], wholes, np.ones((20, 1)))
    for values in (interval.value, interval.low, interval.high):
        np.testing.assert_allclose(values, [1, 0], atol=1e-9)


def test_rho_is_scipys_with_ties():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, size=(2, 40))
    assert rank_correlation(x, y)[0] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("number", [32, 144])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_interval_holds_the_truth_in_95_percent_of_runs(number, correlation):
    rng = np.random.default_rng(1)
    truth = 6 / np.pi * np.arcsin(correlation / 2)
    covered = 0
    for _ in range(1500):
        x, noise = rng.normal(size=(2, number))
        _, low, high = rank_correlation(x, correlation * x + np.sqrt(1 - correlation**2) * noise)
        covered += low <= truth <= high
    assert 0.93 <= covered / 1500 <= 0.97


def test_what_has_no_interval_or_no_rho():
    assert np.isnan(rank_correlation(np.ones(12), np.arange(12))).all()
    rho, low, high = rank_correlation(np.arange(9), np.arange(9) ** 2)
    assert rho == pytest.approx(1)
    assert np.isnan([low, high]).all()
    assert rank_correlation(np.arange(12), -np.arange(12)) == pytest.approx((-1, -1, -1))
