"""The head that is named, scored where it was not chosen: plain loops, and what its intervals hold in simulations."""

import numpy as np
import pytest

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
