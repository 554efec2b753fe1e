"""Heads made by hand: the sentence names what they are made of, with its shares, and nothing else."""

from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.features import TOKENS
from support.planted_explanations import context, explained, inputs, planted, shares, values

# What a head is made of: coefficients of features, and the group of each.
MIXTURES = {
    "previous": {"previous": 6.0},
    "same token": {"earlier_copy": 5.0, "later_copy": 5.0},
    "induction": {"behind_copy": 6.0},
    "three words": {"favors": 4.0},
    "half sink, half previous": {"cls": 5.0, "previous": 5.0},
    "separator and next": {"sep": 4.0, "next": 5.0},
    "sink, previous, copies": {"cls": 4.0, "previous": 4.0, "earlier_copy": 4.0, "later_copy": 4.0},
    "copies and next": {"earlier_copy": 4.0, "later_copy": 4.0, "next": 5.0},
    "marks and sink": {"period_comma": 3.0, "cls": 5.0},
    "previous and induction": {"previous": 3.0, "behind_copy": 6.0},
    "itself and separator": {"current": 4.0, "sep": 4.0},
    "sink and itself": {"cls": 4.0, "current": 3.0},
    "sink, not punctuation": {"cls": 3.0, "period_comma": -5.0},
}
GROUPS = {"favors": TOKENS, **{name: FEATURES[name].group for name in FEATURES}}
ALIKE = {"frequency": "period_comma"}
"""Periods and commas are the most frequent tokens of these texts by far: either group would do for the other."""
FROM_MARKS, NOISE = "separator from punctuation, previous from others", "noise"
AVOIDS = "not three words"


def columns(name):
    """The feature, or the three words, in every input."""
    tables = []
    for each in inputs():
        rows = context(each, np.ones((len(each.rows), len(each.tokens)), dtype=bool), trees=False)
        favored = np.isin(rows.key_texts, ("not", "no", "never"))[None].repeat(len(rows.rows), axis=0) * 1.0
        tables.append(favored if name == "favors" else values(name, rows))
    return tables


def attention_of(scores):
    return [planted(scores, each) for each in inputs()]


@pytest.fixture(scope="module")
def explanations():
    rng = np.random.default_rng(0)
    noise = [np.exp(2 * rng.normal(size=(len(each.rows), len(each.tokens)))).astype(np.float64) for each in inputs()]
    heads = {name: attention_of(scores) for name, scores in MIXTURES.items()}
    heads[AVOIDS] = attention_of({"cls": 2.0, "favors": -5.0})
    heads[FROM_MARKS] = attention_of({"sep_from_marks": 5.0})
    heads[NOISE] = [weights / weights.sum(1, keepdims=True) for weights in noise]
    return dict(zip(heads, explained(list(heads.values())), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXTURES)
def test_a_planted_head_is_explained_by_what_was_planted(explanations, name):
    row, groups = explanations[name]
    named: dict[str, float] = {}
    for group, share in groups.items():
        if share >= 0.01:
            named[ALIKE.get(group, group)] = named.get(ALIKE.get(group, group), 0.0) + share
    assert row["explained"] > 0.97
    assert set(named) == {GROUPS[feature] for feature in MIXTURES[name]}
    # Each half of the documents adds the groups in an order of its own, and what they add is averaged.
    of_orders = []
    for order in permutations(named):
        of_group = [[columns(each) for each in MIXTURES[name] if GROUPS[each] == group] for group in order]
        of_orders.append(dict(zip(order, shares(attention_of(MIXTURES[name]), of_group), strict=True)))
    averages = [
        {group: (one[group] + other[group]) / 2 for group in named}
        for one, other in combinations_with_replacement(of_orders, 2)
    ]
    assert any(named == pytest.approx(expected, abs=0.03) for expected in averages)


@pytest.mark.slow
def test_groups_of_which_either_would_do_are_named_together(explanations):
    row, _ = explanations["marks and sink"]
    assert " and periods and commas or tokens by how frequent they are (" in row["sentence"]


@pytest.mark.slow
def test_the_favored_words_are_named(explanations):
    sentence = explanations["three words"][0]["sentence"]
    assert set(sentence.split("Attends to ")[1].split(" (")[0].split(", ")) == {"“not”", "“no”", "“never”"}


@pytest.mark.slow
def test_what_a_head_avoids_is_said_so(explanations):
    assert "avoids periods and commas (" in explanations["sink, not punctuation"][0]["sentence"]
    row, groups = explanations[AVOIDS]
    # The penalty on coefficients holds back -5, which keeps attention away from few keys.
    assert row["explained"] > 0.93
    assert set(groups) == {"cls", TOKENS}
    sentence = row["sentence"]
    assert set(sentence.split("avoids ")[1].split(" (")[0].split(", ")) == {"“not”", "“no”", "“never”"}


@pytest.mark.slow
def test_a_head_of_noise_is_not_explained(explanations):
    assert explanations[NOISE][0]["explained"] < 0.05


@pytest.mark.slow
def test_a_head_that_differs_by_what_attends_is_said_to_do_so(explanations):
    row, groups = explanations[FROM_MARKS]
    assert row["explained"] > 0.97
    assert "varies with the attending token" in row["sentence"]
    assert {"previous", "sep"} <= set(groups)


@pytest.mark.slow
def test_a_head_of_verbs_attends_to_their_objects():
    attention = attention_of({"dependent_obj": 6.0})
    ((row, groups), _) = explained([attention, attention], trees=True)
    assert set(groups) == {"dependents"}
    assert "the direct object of a verb" in row["sentence"]
    assert row["explained"] > 0.97


def test_nothing_is_claimed_of_few_documents():
    attention = attention_of({"previous": 6.0})
    ((row, groups),) = explained([attention], documents=5)
    assert row["to_explain"] > 1
    assert np.isnan(row["explained"])
    assert row["sentence"] == "Attends to the previous token; not tested on other documents"
    assert not groups
