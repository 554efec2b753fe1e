"""UUAS and Spearman against loops over sentences, networkx-free: trees grown arc by arc, scipy's spearmanr."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from headscope.analyses.probes.structural.tree_scores import (
    StructuralScorer,
    gold_arcs,
    row_correlations,
    structural_scores,
    tree_distances,
)
from support.structural import stored_sentence
from support.trees import random_tree


@pytest.fixture(scope="module")
def sentences():
    rng = np.random.default_rng(7)
    made, start = [], 0
    for place in range(60):
        words = int(rng.integers(1, 14))
        heads, _ = random_tree(words, rng)
        made.append(
            stored_sentence(
                heads,
                document=f"d{place % 15}",
                index=place // 15,
                punctuation=np.flatnonzero(rng.random(words) < 0.15),
                unknown=np.flatnonzero(rng.random(words) < 0.05),
                start=start,
            )
        )
        start += words
    return made


@pytest.fixture(scope="module")
def points(sentences):
    rng = np.random.default_rng(8)
    return rng.normal(size=(sum(map(len, sentences)), 3)).astype(np.float32)


def between(points):
    """Squared distances of points, `[..., word, word]`."""
    return ((points[..., :, None, :] - points[..., None, :, :]) ** 2).sum(-1)


def grown(distances, nodes):
    """The minimum spanning tree by Prim, one word after the other."""
    inside, arcs = {nodes[0]}, set()
    while len(inside) < len(nodes):
        near, new = min(((a, b) for a in inside for b in nodes if b not in inside), key=lambda arc: distances[arc])
        inside.add(new)
        arcs.add(frozenset((near, new)))
    return arcs


def test_scores_are_those_of_a_loop(sentences, points):
    hits = arcs = 0
    by_length = {}
    for one in sentences:
        distances, gold = between(points[one.rows]), tree_distances(one.heads)
        known = np.flatnonzero(one.known).tolist()
        own = [word for word in known if not one.punctuation[word]]
        right = {
            frozenset((word, head - 1))
            for word, head in enumerate(one.heads)
            if head and not one.punctuation[word] and not one.punctuation[head - 1]
        }
        arcs += len(right)
        hits += len(right & grown(distances, own)) if own else 0
        if 5 <= len(one) <= 50:
            for word in range(len(one)):
                rho = spearmanr(distances[word, known], gold[word, known])[0] if word in known else 0
                by_length.setdefault(len(one), []).append(rho)
    sums = StructuralScorer(sentences).sums(lambda rows: between(points[rows]))
    found = structural_scores([sums])
    assert found["UUAS"]["n_cases"] == arcs
    assert found["UUAS"]["value"] == pytest.approx(hits / arcs, abs=1e-12)
    assert found["Spearman"]["n_cases"] == sum(map(len, by_length.values()))
    expected = np.mean([np.mean(each) for each in by_length.values()])
    assert found["Spearman"]["value"] == pytest.approx(expected, abs=1e-9)
    assert found["UUAS"]["ci_low"] < found["UUAS"]["value"] < found["UUAS"]["ci_high"]
    assert found["Spearman"]["ci_low"] < found["Spearman"]["value"] < found["Spearman"]["ci_high"]


def test_gold_distances_find_every_arc(sentences):
    whole = [one for one in sentences if one.known.all()]
    table = {(one.start, len(one)): tree_distances(one.heads) for one in whole}

    def right(rows):
        return np.stack([table[row[0], len(row)] for row in rows]).astype(np.float32)

    found = structural_scores([StructuralScorer(whole).sums(right)])
    assert found["Spearman"]["value"] == pytest.approx(1)
    # Where punctuation stands between words, the tree over the others has arcs that gold does not.
    assert found["UUAS"]["value"] == 1
    # All right is not certain.
    assert 0.9 < found["UUAS"]["ci_low"] < 1


def test_arcs_with_punctuation_at_either_end_do_not_count():
    one = stored_sentence((2, 0, 2, 3, 2), punctuation=[2])
    assert [(int(a), int(b)) for a, b in zip(*gold_arcs(one).nonzero())] == [(0, 1), (1, 4)]


def test_equal_predictions_say_nothing():
    known = np.array([[True, True, True], [True, True, False]])
    gold = np.stack([tree_distances((0, 1, 1)), tree_distances((0, 1, 2))])
    found = row_correlations(np.zeros((2, 3, 3), dtype=np.float32), gold, known)
    assert not found.any()
    found = row_correlations(gold.astype(np.float32), gold, known)
    np.testing.assert_allclose(found, [[1, 1, 1], [1, 1, 0]])


def test_the_mean_over_seeds_is_the_mean_of_their_scores(sentences, points):
    scorer = StructuralScorer(sentences)
    several = [scorer.sums(lambda rows, some=some: between(points[rows][..., :some])) for some in (3, 1)]
    alone = [structural_scores([sums]) for sums in several]
    both = structural_scores(several)
    for measure in ("UUAS", "Spearman"):
        assert alone[0][measure]["value"] != alone[1][measure]["value"]
        mean = (alone[0][measure]["value"] + alone[1][measure]["value"]) / 2
        assert both[measure]["value"] == pytest.approx(mean)
        assert both[measure]["n_cases"] == alone[0][measure]["n_cases"]


def test_the_interval_of_spearman_is_over_documents(sentences, points):
    """As wide as leaving out one document at a time says, and a little wider than resampling them."""
    sums = StructuralScorer(sentences).sums(lambda rows: between(points[rows]))
    found = structural_scores([sums])["Spearman"]

    def mean(counts):
        means = []
        for length in range(sums["words"].shape[1]):
            words = (counts * sums["words"][:, length]).sum()
            if words:
                means.append((counts * sums["correlation"][:, length]).sum() / words)
        return np.mean(means)

    rng = np.random.default_rng(3)
    drawn = [mean(counts) for counts in rng.multinomial(15, [1 / 15] * 15, size=2000)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert found["ci_low"] < found["value"] < found["ci_high"]
    assert 0.9 < (found["ci_high"] - found["ci_low"]) / (high - low) < 1.6
    left_out = np.array([mean(1 - own) for own in np.eye(15)])
    error = np.sqrt(14 / 15 * ((left_out - left_out.mean()) ** 2).sum())
    assert 1.5 < (found["ci_high"] - found["ci_low"]) / 2 / error < 3


def test_few_documents_give_no_interval(sentences, points):
    few = [one for one in sentences if one.document in ("d0", "d1")]
    found = structural_scores([StructuralScorer(few).sums(lambda rows: between(points[rows]))])
    for score in found.values():
        assert np.isfinite(score["value"])
        assert np.isnan([score["ci_low"], score["ci_high"]]).all()
    # No sentence of 5 words or more: nothing to correlate.
    short = [one for one in sentences if len(one) < 5]
    found = structural_scores([StructuralScorer(short).sums(lambda rows: between(points[rows]))])
    assert np.isnan(found["Spearman"]["value"])
    assert found["Spearman"]["n_cases"] == 0
