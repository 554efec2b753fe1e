"""Tables of scores: worked by hand, with the intervals over documents of the whole project."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.probes.score_rows import (
    GoldWords,
    ProbeAnswers,
    distance_rows,
    probe_differences,
    probe_rows,
    relation_rows,
)
from headscope.analyses.probes.tables import PROBE_BY_DISTANCE, PROBE_DIFFERENCES, PROBE_RELATIONS, PROBES
from headscope.analyses.probes.tree_sentences import TreeSentence
from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from headscope.statistics.sums.groups import group_of
from headscope.statistics.tables.frames import DISTANCES
from support.probe_data import made_up_trees
from support.trees import distance_name


def sentence(document, heads, relations):
    words = tuple("w" * len(heads))
    return TreeSentence(document=document, index=0, words=words, heads=np.array(heads), relations=tuple(relations))


SMALL = [sentence("b", [2, 0, 2], ["nsubj", "root", "punct"]), sentence("a", [2, 0], ["nsubj", "root"])]


def test_gold_words_worked_by_hand():
    gold = GoldWords.of(SMALL)
    assert gold.groups.tolist() == [1, 1, 1, 0, 0]
    assert gold.number_of_groups == 2
    assert gold.counted.tolist() == [True, True, False, True, True]
    assert gold.distances.tolist() == [0, -1, 0, 0, -1]
    assert gold.heads.tolist() == [2, 0, 2, 2, 0]


def test_scores_of_seeds_and_their_mean_worked_by_hand():
    gold = GoldWords.of(SMALL)
    right = np.array([[1, 0, 1, 1, 0], [1, 1, 0, 1, 1]], dtype=float)
    control = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 0, 0]], dtype=float)
    measures = {"UAS": right, "control accuracy": control, "selectivity": right - control}
    table = probe_rows(ProbeAnswers("attention", "trained", None, measures), gold)
    assert list(table.columns) == PROBES.names
    assert table["seed"].dtype == "Int64"
    assert table["seed"].fillna(-1).tolist() == [0, 1, -1] * 3
    # Punctuation does not count: 4 words.
    assert table["value"].tolist() == [0.5, 1.0, 0.75, 0.5, 0.0, 0.25, 0.0, 1.0, 0.5]
    assert set(table["n_cases"]) == {4}
    spread = table.set_index(["measure", "seed"])["spread"]
    assert spread[spread.index.get_level_values("seed").notna()].isna().all()
    means = table[table["seed"].isna()].set_index("measure")["spread"]
    np.testing.assert_allclose(means, [np.std([0.5, 1], ddof=1), np.std([0.5, 0], ddof=1), np.std([0, 1], ddof=1)])
    assert table["ci_low"].isna().all()  # two documents
    assert set(table["probe"]) == {"attention"}
    assert table["vectors"].isna().all()


def test_what_has_no_seeds_has_one_row():
    right = {"UAS": np.array([[1.0, 0, 0, 0, 0]])}
    answers = ProbeAnswers("right-branching", "trained", None, right, seeded=False)
    table = probe_rows(answers, GoldWords.of(SMALL))
    assert table["seed"].isna().tolist() == [True]
    assert table["value"].tolist() == [0.25]
    assert table["spread"].isna().all()


@pytest.fixture(scope="module")
def many():
    """300 documents, more than are kept apart, and answers of two seeds."""
    sentences = made_up_trees(1200, documents=300, longest=16)
    gold = GoldWords.of(sentences)
    right = (np.random.default_rng(1).random((2, len(gold.heads))) < 0.6).astype(float)
    return sentences, gold, ProbeAnswers("attention and words", "control", "fixed", {"UAS": right})


def sums(sentences, right, chosen):
    """Right answers and words by group of documents, word by word."""
    found = {}
    words = [(s, place) for s in sentences for place in range(len(s))]
    for number, (one, place) in enumerate(words):
        if chosen(one, place):
            own = found.setdefault(group_of(one.document), [0.0, 0])
            own[0] += right[number]
            own[1] += 1
    keys = sorted({group_of(s.document) for s in sentences})
    return (np.array([found.get(key, [0.0, 0])[at] for key in keys]) for at in (0, 1))


def same(row, interval, n):
    assert row["n_cases"] == n
    for name, wanted in (("value", interval.value), ("ci_low", interval.low), ("ci_high", interval.high)):
        assert row[name] == pytest.approx(float(wanted), abs=1e-12)


def counted(one, place):
    return one.relations[place] != "punct"


def test_intervals_are_those_of_the_mean_over_seeds(many):
    sentences, gold, answers = many
    table = probe_rows(answers, gold)
    hits, counts = sums(sentences, answers.right["UAS"].mean(0), counted)
    row = table[table["seed"].isna()].iloc[0]
    same(row, ratio_interval(hits, counts, scale="share"), counts.sum())
    assert row["ci_high"] - row["ci_low"] > 0.01
    hits, counts = sums(sentences, answers.right["UAS"][1], counted)
    same(table[table["seed"] == 1].iloc[0], ratio_interval(hits, counts, scale="share"), counts.sum())


def test_probes_are_compared_on_the_same_words(many):
    """Each document takes part on both sides at once; intervals of the two alone are never asked."""
    sentences, gold, answers = many
    other = replace(answers, probe="distances and words", right={"UAS": 1 - answers.right["UAS"]})
    table = probe_differences([answers, other], gold)
    assert list(table.columns) == PROBE_DIFFERENCES.names
    (row,) = table.to_dict("records")
    assert (row["probe"], row["than_probe"]) == (answers.probe, "distances and words")
    one, counts = sums(sentences, answers.right["UAS"].mean(0), counted)
    two, _ = sums(sentences, other.right["UAS"].mean(0), counted)
    own = difference_interval(one, counts, two, counts, answers=True)
    assert row["n_cases"] == counts.sum()
    assert row["difference"] == pytest.approx((one.sum() - two.sum()) / counts.sum())
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((float(own.low), float(own.high)))


def test_selectivity_may_be_below_nothing(many):
    _, gold, answers = many
    table = probe_rows(replace(answers, right={"selectivity": -0.5 * answers.right["UAS"]}), gold)
    row = table[table["seed"].isna()].iloc[0]
    assert row["ci_low"] < row["value"] < row["ci_high"] < 0


def test_relations_with_100_arcs_and_no_punctuation(many):
    sentences, gold, answers = many
    table = relation_rows(answers, gold)
    assert list(table.columns) == PROBE_RELATIONS.names
    frequent = {}
    for one in sentences:
        for name in one.relations:
            frequent[name] = frequent.get(name, 0) + 1
    wanted = sorted((n for n in frequent if n != "punct" and frequent[n] >= 100), key=lambda n: (-frequent[n], n))
    assert table["relation"].tolist() == wanted
    assert "root" in wanted
    for row in table.to_dict("records"):

        def own(one, place, name=row["relation"]):
            return one.relations[place] == name

        hits, counts = sums(sentences, answers.right["UAS"].mean(0), own)
        same(row, ratio_interval(hits, counts, scale="share"), counts.sum())


def test_a_relation_with_99_arcs_has_no_row():
    few = [sentence(f"d{place}", [2, 0], ["obj", "root"]) for place in range(99)]
    right = {"UAS": np.ones((1, 198))}
    assert relation_rows(ProbeAnswers("attention", "trained", None, right), GoldWords.of(few)).empty


def test_distances_of_arcs_between_words(many):
    sentences, gold, answers = many
    table = distance_rows(answers, gold)
    assert list(table.columns) == PROBE_BY_DISTANCE.names
    table = table.set_index("distance")
    assert list(table.index) == list(DISTANCES)
    for name in DISTANCES:

        def far(one, place, name=name):
            head = int(one.heads[place])
            return counted(one, place) and head > 0 and distance_name(abs(head - 1 - place)) == name

        hits, counts = sums(sentences, answers.right["UAS"].mean(0), far)
        assert counts.sum() > 0
        same(table.loc[name], ratio_interval(hits, counts, scale="share"), counts.sum())
