"""Sentences on relations and coreference, as they are printed, and only where a test or an interval supports them."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.reporting.arrays import Cell
from headscope.reporting.coreference_findings import compare
from headscope.reporting.findings import findings, headline
from support import mock_inputs
from support.mock_syntax import MEASURED, with_treebank


def texts(inputs, *topics):
    return [one.text for one in findings(inputs) if one.topic in topics]


def put(inputs, table, where, **values):
    """Change the rows of a table where all of `where` holds."""
    frame = getattr(inputs, table).copy()
    here = np.logical_and.reduce([frame[name] == value for name, value in where.items()])
    assert here.any()
    for name, value in values.items():
        frame.loc[here, name] = value
    return replace(inputs, **{table: frame})


@pytest.fixture(scope="module")
def inputs():
    return mock_inputs.section_4(6, 12)


HELD = {"model": "trained", "selection": "held-out"}


def test_the_clearest_relation(inputs):
    one = put(
        inputs, "dependency_best", {**HELD, "relation": "obj"}, accuracy=0.752, ci_low=0.729, ci_high=0.774
    )
    assert texts(one, "syntax")[0] == (
        "Head 3-1 finds the verb of a direct object (obj) in 75.2% (95% interval 72.9 to 77.4) of 1,211 cases, "
        "39 points above the best fixed offset (−2)."
    )


def test_how_many_beat_their_offset_and_which_do_not(inputs):
    assert texts(inputs, "syntax")[1] == (
        "For 15 of 23 relations a head, chosen on other documents, beats the best fixed offset (q < 0.05). Not so for "
        "nummod, cc, discourse, advmod, compound, flat, acl and appos; measured below it: acl and appos."
    )


def test_no_relation_beats_its_offset(inputs):
    none = put(inputs, "dependency_best", HELD, q_value=0.2)
    assert texts(none, "syntax")[0] == (
        "For none of 23 relations is a head, chosen on other documents, shown to beat the best fixed offset (q < 0.05)."
    )


def test_every_relation_beats_its_offset():
    clear = with_treebank(
        mock_inputs.encoder(2, 3), measured=[row for row in MEASURED if row[0] in ("obj", "case")]
    )
    assert texts(clear, "syntax")[1] == (
        "For all 2 relations a head, chosen on other documents, beats the best fixed offset (q < 0.05)."
    )


def test_random_weights_stand_beside(inputs):
    best = inputs.dependency_best
    best = best[~best["relation"].isin(["all", "all_but_punct_root"])]
    held = best[(best["model"] == "trained") & (best["selection"] == "held-out")].set_index("relation")
    control = best[best["model"] == "control"].groupby("relation")["accuracy"]
    above = sum(held.loc[name, "ci_low"] > value for name, value in control.max().items())
    assert texts(inputs, "syntax")[2] == (
        "With random weights the best heads, chosen in the same way, average "
        f"{100 * control.mean().mean():.1f}% over these relations, against {100 * held['accuracy'].mean():.1f}% here; "
        "the trained head’s whole interval lies above all 3 of the random weights for "
        f"{above} of 23 relations."
    )


def test_all_relations_together_beside_branching(inputs):
    assert texts(inputs, "syntax")[3] == (
        "Over all relations together (punctuation and the root left aside) the best head is head 3-9 with 42.3% (41.5 "
        "to 43.1), where the best offset (+1) has 34.5% (33.7 to 35.3); always the next word (right-branching) 34.5% "
        "(33.7 to 35.3) and always the one before (left-branching) 20.7% (20.0 to 21.4)."
    )


def test_direction_and_special_tokens(inputs):
    assert texts(inputs, "syntax_detail") == [
        "In the best heads of 17 of 23 relations the dependent attends to its head word; for advcl, conj, mark, cc, "
        "acl and appos the head word attends to the dependent.",
        "Letting special tokens be candidates would change 812 of 3,600 accuracies, the largest by 21.4 points.",
    ]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, []),
        ({"special_changes": {"accuracies": 0, "of": 40, "largest": 0.0}},
         ["Letting special tokens be candidates would change 0 of 40 accuracies."]),
        ({"special_kept": True, "special_changes": {"accuracies": 2, "of": 40, "largest": 0.01}},
         ["Leaving special tokens out of the candidates would change 2 of 40 accuracies, the largest by 1.0 points."]),
    ],
)  # fmt: skip
def test_changes_by_special_tokens(inputs, told, words):
    other = replace(inputs, manifest={**inputs.manifest, "treebank": told})
    assert [text for text in texts(other, "syntax_detail") if "special tokens" in text] == words


def resting(inputs, **changed):
    """Three relations whose dependents attend to their head words in 3-1."""
    frame = inputs.dependency_noop.query("key_class == 'sep'").iloc[:3].copy()
    frame["relation"] = ["obj", "det", "case"]
    frame[["layer", "head"]] = [3, 1]
    frame["direction"] = "dependent->head"
    frame["attending"], frame["others"] = [0.12, 0.5, 0.3], [0.48, 0.4, 0.31]
    frame["difference"] = frame["attending"] - frame["others"]
    frame["ci_low"], frame["ci_high"] = frame["difference"] - 0.03, frame["difference"] + 0.03
    return frame.assign(**changed)


@pytest.mark.parametrize("turned", [False, True])
def test_rest_on_the_separator_whichever_way_the_difference_is_taken(inputs, turned):
    frame = resting(inputs)
    if turned:
        frame["difference"] *= -1
        frame[["ci_low", "ci_high"]] = -frame[["ci_high", "ci_low"]].to_numpy()
    assert texts(replace(inputs, dependency_noop=frame), "syntax_rest") == [
        "For 1 of 3 relations the dependents give [SEP] less of their attention than all other words do in the "
        "relation’s best head, with the whole interval; for 1 they give it more. The clearest is head 3-1: 12.0% from "
        "words marked obj (direct object), 48.0% from all other words."
    ]


@pytest.mark.parametrize(
    ("directions", "who", "clearest"),
    [
        (["head->dependent"] * 3, "the dependents’ head words", "the head words of words marked obj (direct object)"),
        (
            ["head->dependent", "dependent->head", "dependent->head"],
            "the words that attend (the dependents, or where they attend the head words)",
            "the head words of words marked obj (direct object)",
        ),
        (
            ["both"] * 3,
            "the words that attend (the dependents, or where they attend the head words)",
            "words marked obj (direct object) and their head words",
        ),
    ],
)  # fmt: skip
def test_the_words_that_attend_are_named(inputs, directions, who, clearest):
    frame = resting(inputs, direction=directions)
    (said,) = texts(replace(inputs, dependency_noop=frame), "syntax_rest")
    assert said == (
        f"For 1 of 3 relations {who} give [SEP] less of their attention than all other words do in the relation’s best "
        f"head, with the whole interval; for 1 they give it more. The clearest is head 3-1: 12.0% from {clearest}, "
        "48.0% from all other words."
    )


def test_a_token_with_next_to_no_attention_is_no_place_of_rest(inputs):
    frame = inputs.dependency_noop.assign(
        others=0.04, attending=0.01, difference=-0.03, ci_low=-0.04, ci_high=-0.02
    )
    assert texts(replace(inputs, dependency_noop=frame), "syntax_rest") == []
    frame.loc[frame["key_class"] == "cls", ["others", "attending"]] = [0.6, 0.2]
    (said,) = texts(replace(inputs, dependency_noop=frame), "syntax_rest")
    assert said.startswith("For all 23 relations the words that attend (the dependents, or where they attend the head "
                           "words) give [CLS] less of their attention")  # fmt: skip


def test_no_relation_rests_less(inputs):
    frame = inputs.dependency_noop.query("key_class == 'sep'").assign(ci_low=-0.1, ci_high=0.1)
    assert texts(
        replace(inputs, dependency_noop=frame.assign(direction="head->dependent")), "syntax_rest"
    ) == [
        "It is shown for none of 23 relations that the dependents’ head words give [SEP] less of their attention than "
        "all other words do in the relation’s best head (the whole interval)."
    ]


def test_rest_that_was_not_tested_is_said_to_be_untested(inputs):
    nothing = resting(inputs, ci_low=float("nan"), ci_high=float("nan"))
    assert texts(replace(inputs, dependency_noop=nothing), "syntax_rest") == [
        "Whether the dependents give [SEP] less of their attention than all other words do in the relation’s best head "
        "was not tested: an interval needs at least 10 documents with such words."
    ]
    some = resting(inputs)
    some.loc[some["relation"] == "case", ["ci_low", "ci_high"]] = float("nan")
    (said,) = texts(replace(inputs, dependency_noop=some), "syntax_rest")
    assert said.startswith("For 1 of 2 relations the dependents")
    assert "; for 1 they give it more; 1 more was not tested, for want of documents. The" in said


def test_antecedents(inputs):
    assert texts(inputs, "coreference")[:3] == [
        "Head 4-7, chosen on other documents, picks a right antecedent for 65.2% (95% interval 62.9 to 67.5) of 2,310 "
        "coreferent mentions, more than the nearest candidate (40.2%) and the nearest with the same head word (41.8%).",
        "It cannot be told apart from the same head word or else the nearest (61.0%) and the four rules (66.8%).",
        "It does best on proper names, 71.0% (65.6 to 76.4), and worst on nominals, 53.8% (49.2 to 58.4).",
    ]


def test_a_better_baseline_is_said_to_be_better(inputs):
    rules = {"system": "rules", "mention_type": "all"}
    other = put(inputs, "coreference", rules, accuracy=0.77, ci_low=0.75, ci_high=0.79)
    assert texts(other, "coreference")[1] == (
        "It does worse than the four rules (77.0%); it cannot be told apart from the same head word or else the "
        "nearest (61.0%)."
    )


def test_types_that_overlap_are_not_ranked(inputs):
    other = put(
        inputs, "coreference", {"selection": "held-out", "model": "trained"}, ci_low=0.5, ci_high=0.75
    )
    assert not [text for text in texts(other, "coreference") if "worst on" in text]


def test_without_intervals_nothing_is_claimed():
    few = mock_inputs.section_4(2, 3, documents=4)
    said = texts(few, "syntax", "coreference", "syntax_rest")
    assert not [text for text in said if "interval " in text and "needs at least" not in text]
    assert not [
        text for text in said if "more than" in text or "told apart" in text or "whole interval" in text
    ]
    assert any(text.startswith("Measured beside it: the nearest candidate (40.2%)") for text in said)
    assert "Accuracies have no intervals: an interval needs at least 10 documents." in said
    assert "These accuracies have no intervals: an interval needs at least 10 documents." in said


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.1, 0.2, "more"), (0.8, 0.9, "less"), (0.3, 0.45, "same"), (np.nan, np.nan, "unknown")],
)
def test_telling_two_accuracies_apart(low, high, verdict):
    assert compare(Cell(0.5, 0.4, 0.6, np.nan, 9), Cell(0.5, low, high, np.nan, 9)) == verdict


def test_the_first_screen_has_a_sentence_of_each(inputs):
    assert [one.topic for one in headline(findings(inputs))] == ["position", "syntax", "coreference"]


def test_a_run_without_them_says_nothing():
    assert texts(mock_inputs.encoder(1, 1), "syntax", "syntax_rest", "syntax_detail", "coreference") == []
