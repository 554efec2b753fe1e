"""Sentences on relations and coreference, as they are printed, and only where a test or an interval supports them."""

import ast
from pathlib import Path

import numpy as np
import pytest

from headscope.present.claim_rules import Comparison, compared, verdicts
from headscope.reporting.story import findings, headline
from headscope.statistics.inference.significance import shown
from support import mock_inputs
from support.measured import with_parts
from support.mock_syntax import MEASURED, with_treebank


def texts(inputs, *topics):
    return [one.text for one in findings(inputs) if one.topic in topics]


def put(inputs, table, where, **values):
    """Change the rows of a table where all of `where` holds."""
    frame = inputs.tables.get(table).copy()
    here = np.logical_and.reduce([frame[name] == value for name, value in where.items()])
    assert here.any()
    for name, value in values.items():
        frame.loc[here, name] = value
    return with_parts(inputs, **{table: frame})


@pytest.fixture(scope="module")
def inputs():
    return mock_inputs.section_4(6, 12)


HELD = {"model": "trained", "selection": "held-out"}


def test_the_clearest_relation(inputs):
    one = put(
        inputs, "syntax_best", {**HELD, "relation": "obj"},
        accuracy=0.752, ci_low=0.729, ci_high=0.774, margin=0.394, margin_ci_low=0.37, margin_ci_high=0.418,
    )  # fmt: skip
    assert texts(one, "syntax")[:2] == [
        "Head 3-1 finds the verb of a direct object (obj) in 75.2% (95% interval 72.9 to 77.4) of 1,211 cases.",
        "Head 3-1 is 39.4 points (37.0 to 41.8) above the best fixed offset, −2 (35.8%), on documents that did not "
        "select it.",
    ]


BEATS = "relations a head selected on other documents beats every fixed offset (q < 0.05)."


def test_how_many_beat_their_offset_and_which_do_not(inputs):
    assert texts(inputs, "syntax")[2:5] == [
        f"For 15 of 23 {BEATS}",
        "Not shown for nummod, cc, discourse and 5 more.",
        "Measured below the offset: acl and appos.",
    ]


def test_no_relation_beats_its_offset(inputs):
    none = put(inputs, "syntax_best", HELD, q_value=0.2)
    assert texts(none, "syntax")[0] == (
        "For none of 23 relations that were tested is a head selected on other documents shown to beat every fixed "
        "offset (q < 0.05)."
    )


def test_what_was_not_tested_is_not_called_negative(inputs):
    none = put(inputs, "syntax_best", HELD, q_value=np.nan)
    assert texts(none, "syntax")[0] == (
        "Whether a head beats the best fixed offset was not tested for the 23 relations: that needs at least 10 "
        "documents."
    )
    few = put(inputs, "syntax_best", {**HELD, "relation": "obj"}, q_value=np.nan)
    assert texts(few, "syntax")[2:6] == [
        f"For 14 of 22 {BEATS}",
        "Not shown for nummod, cc, discourse and 5 more.",
        "Measured below the offset: acl and appos.",
        "Not tested, with fewer than 10 documents: obj.",
    ]


def test_every_relation_beats_its_offset():
    clear = with_treebank(mock_inputs.encoder(2, 3), measured=[row for row in MEASURED if row[0] in ("obj", "case")])
    said = texts(clear, "syntax")
    assert said[2] == f"For all 2 {BEATS}"
    assert not any(text.startswith("Not shown") for text in said)


def test_random_weights_stand_beside(inputs):
    best = inputs.tables.get("syntax_best")
    best = best[~best["relation"].isin(["all", "all_but_punct_root"])]
    held = best[(best["model"] == "trained") & (best["selection"] == "held-out")].set_index("relation")
    control = best[best["model"] == "control"].groupby("relation")["held_out"]
    every = inputs.tables.get("syntax_differences")
    every = every[every["than"] == "control"]
    ends = (every[name].tolist() for name in ("difference", "ci_low", "ci_high"))
    every = every.assign(shown=shown(*ends, least=0.01) & (every["difference"] > 0))
    gaps = every.groupby("relation")["shown"].all()
    above = int(gaps[held.index].sum())
    assert texts(inputs, "syntax")[5:7] == [
        f"Heads selected on other documents average {100 * held['held_out'].mean():.1f}% over these relations, those "
        f"of random weights {100 * control.mean().mean():.1f}%.",
        f"The heads lie above each of the 3 random weights for {above} of 23 relations (false discovery rate 5%).",
    ]
    assert above > 0


def test_random_weights_are_compared_by_the_difference_not_by_intervals(inputs):
    """Accuracies whose intervals lie far apart, and a difference that is not sure: it decides."""
    gaps = inputs.tables.get("syntax_differences").assign(ci_low=-0.01)
    said = texts(with_parts(inputs, syntax_differences=gaps), "syntax")[6]
    assert said.endswith("for 0 of 23 relations (false discovery rate 5%).")


def test_all_relations_together_beside_branching(inputs):
    assert texts(inputs, "syntax")[7:] == [
        "Over all relations together (without punctuation and the root) the selected head is head 3-9 with 42.7% "
        "(41.9 to 43.5).",
        "The best offset (+1) has 34.5% (33.7 to 35.3); the difference is +8.2 points (7.5 to 8.9).",
        "Always the next word (right-branching) 34.5% (33.7 to 35.3) and always the one before (left-branching) 20.7% "
        "(20.0 to 21.4).",
    ]


def test_direction_and_special_tokens(inputs):
    assert texts(inputs, "syntax_detail") == [
        "In the heads that find 12 of 15 relations the dependent attends to its head word.",
        "For advcl, conj and mark the head word attends to the dependent.",
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
    other = with_parts(inputs, manifest={**inputs.manifest, "treebank": told})
    assert [text for text in texts(other, "syntax_detail") if "special tokens" in text] == words


def resting(inputs, **changed):
    """Three relations whose dependents attend to their head words in 3-1."""
    frame = inputs.tables.get("syntax_noop").query("key_class == 'sep'").iloc[:3].copy()
    frame["relation"] = ["obj", "det", "case"]
    frame[["layer", "head"]] = [3, 1]
    frame["direction"] = "dependent->head"
    frame["attending"], frame["others"] = [0.12, 0.5, 0.3], [0.48, 0.4, 0.31]
    frame["difference"] = frame["attending"] - frame["others"]
    frame["ci_low"], frame["ci_high"] = frame["difference"] - 0.03, frame["difference"] + 0.03
    return frame.assign(**changed)


MEASURED_IN = "Measured in the head that finds each relation."
BOTH_ATTEND = "Measured in the head that finds each relation; dependents attend, or where they attend the head words."


def test_rest_on_the_separator(inputs):
    assert texts(with_parts(inputs, syntax_noop=resting(inputs)), "syntax_noop") == [
        "For 1 of 3 relations the dependents give [SEP] less attention than other words do (false discovery rate 5%).",
        MEASURED_IN,
        "The clearest is head 3-1: 12.0% from words marked obj (direct object), 48.0% from others.",
        "For 1 they give [SEP] more.",
    ]


@pytest.mark.parametrize(
    ("directions", "who", "measured_in", "clearest"),
    [
        (
            ["head->dependent"] * 3,
            "the dependents’ head words",
            MEASURED_IN,
            "the head words of words marked obj (direct object)",
        ),
        (
            ["head->dependent", "dependent->head", "dependent->head"],
            "the attending words",
            BOTH_ATTEND,
            "the head words of words marked obj (direct object)",
        ),
        (["both"] * 3, "the attending words", BOTH_ATTEND, "words marked obj (direct object) and their head words"),
    ],
)
def test_the_words_that_attend_are_named(inputs, directions, who, measured_in, clearest):
    frame = resting(inputs, direction=directions)
    assert texts(with_parts(inputs, syntax_noop=frame), "syntax_noop") == [
        f"For 1 of 3 relations {who} give [SEP] less attention than other words do (false discovery rate 5%).",
        measured_in,
        f"The clearest is head 3-1: 12.0% from {clearest}, 48.0% from others.",
        "For 1 they give [SEP] more.",
    ]


def test_a_token_with_next_to_no_attention_is_no_place_of_rest(inputs):
    frame = inputs.tables.get("syntax_noop").assign(
        others=0.04, attending=0.01, difference=-0.03, ci_low=-0.04, ci_high=-0.02
    )
    assert texts(with_parts(inputs, syntax_noop=frame), "syntax_noop") == []
    frame.loc[frame["key_class"] == "cls", ["others", "attending"]] = [0.6, 0.2]
    said, *more = texts(with_parts(inputs, syntax_noop=frame), "syntax_noop")
    # Of the 23 relations 15 have a head that beats every fixed offset.
    assert said.startswith("For all 15 relations the attending words give [CLS] less attention than")
    assert more[0] == BOTH_ATTEND


def test_no_relation_rests_less(inputs):
    frame = inputs.tables.get("syntax_noop").query("key_class == 'sep'").assign(ci_low=-0.1, ci_high=0.1)
    assert texts(with_parts(inputs, syntax_noop=frame.assign(direction="head->dependent")), "syntax_noop") == [
        "For none of 15 relations is it shown that the dependents’ head words give [SEP] less attention than other "
        "words do.",
        MEASURED_IN,
    ]


def test_rest_that_was_not_tested_is_said_to_be_untested(inputs):
    nothing = resting(inputs, ci_low=float("nan"), ci_high=float("nan"))
    assert texts(with_parts(inputs, syntax_noop=nothing), "syntax_noop") == [
        "Whether the dependents give [SEP] less attention than other words do was not tested.",
        "An interval needs at least 10 documents with such words.",
    ]
    some = resting(inputs)
    some.loc[some["relation"] == "case", ["ci_low", "ci_high"]] = float("nan")
    said = texts(with_parts(inputs, syntax_noop=some), "syntax_noop")
    assert said[0].startswith("For 1 of 2 relations the dependents")
    assert said[-2:] == ["For 1 they give [SEP] more.", "For 1 more, [SEP] was not tested: too few documents."]


def test_antecedents(inputs):
    assert texts(inputs, "coreference")[:8] == [
        "Head 4-7 picks a right antecedent for 65.2% (95% interval 62.9 to 67.5) of 2,310 coreferent mentions.",
        "Head 4-7 was scored on documents that did not select it.",
        "Head 4-7 finds more than the nearest candidate (40.2%): +25.0 points (23.4 to 26.6).",
        "Head 4-7 finds more than the nearest with the same head word (41.8%): +23.4 points (21.8 to 25.0).",
        "Head 4-7 finds more than the same head word or else the nearest (61.0%): +4.2 points (2.6 to 5.8).",
        "Head 4-7 cannot be told apart from the four rules (66.8%): no difference larger than 3.2 points.",
        "Head 4-7 does best on proper names, 71.0% (65.6 to 76.4), and worst on nominals, 53.8% (49.2 to 58.4).",
        "These types of mention differ by 17.2 points (10.1 to 24.3).",
    ]


def test_intervals_that_overlap_do_not_hide_a_difference(inputs):
    """The issue's case: +3.4 points (1.7 to 5.2) was called not to be told apart."""
    rows = inputs.tables.get("coref").query("mention_type == 'all' and model != 'control'").set_index("system")
    assert rows.loc["rules", "ci_low"] < rows.loc["head", "ci_high"].iloc[0] < rows.loc["rules", "ci_high"]
    sure = put(
        inputs, "coref_differences", {"than": "rules", "mention_type": "all"},
        difference=0.034, ci_low=0.017, ci_high=0.052,
    )  # fmt: skip
    assert "Head 4-7 finds more than the four rules (66.8%): +3.4 points (1.7 to 5.2)." in texts(sure, "coreference")
    assert not [text for text in texts(sure, "coreference") if "told apart" in text]


def test_a_better_baseline_is_said_to_be_better(inputs):
    rules = {"than": "rules", "mention_type": "all"}
    other = put(inputs, "coref_differences", rules, difference=-0.118, ci_low=-0.13, ci_high=-0.1)
    assert "Head 4-7 finds less than the four rules (66.8%): −11.8 points (−13.0 to −10.0)." in texts(
        other, "coreference"
    )


def test_types_whose_difference_is_not_sure_are_not_ranked(inputs):
    other = put(inputs, "coref_differences", {"than": "head"}, ci_low=-0.1, ci_high=0.3)
    assert not [text for text in texts(other, "coreference") if "worst on" in text]


def test_a_head_that_random_weights_match_finds_nothing(inputs):
    gaps = inputs.tables.get("coref_differences").copy()
    gaps.loc[gaps["than"] == "control", ["difference", "ci_low", "ci_high"]] = (0.01, -0.02, 0.04)
    said = texts(with_parts(inputs, coref_differences=gaps), "coreference")
    assert said[:2] == [
        "No head is shown to find more antecedents than with random weights.",
        "Head 4-7 was selected, and is right for 65.2% (95% interval 62.9 to 67.5) of 2,310 coreferent mentions.",
    ]


def test_random_weights_lie_below_what_training_chooses(inputs):
    least = inputs.tables.get("coref_differences").query("than == 'control' and mention_type == 'all'")["ci_low"].min()

    def after_training(run):
        return [text for text in texts(run, "coreference") if text.startswith("The head of the trained model")]

    (said,) = [text for text in texts(inputs, "coreference") if text.startswith("With random weights")]
    assert "the best head, selected in the same way, is right for" in said
    assert after_training(inputs) == [
        f"The head of the trained model exceeds each of the random weights by {100 * least:.1f} points or more."
    ]
    one = with_parts(inputs, coref_differences=inputs.tables.get("coref_differences").query("not seed > 0"))
    (said,) = after_training(one)
    assert said.startswith("The head of the trained model exceeds random weights by ")
    assert " points (" in said
    assert after_training(put(inputs, "coref_differences", {"than": "control"}, ci_low=-0.1)) == []


def test_without_intervals_nothing_is_claimed():
    few = mock_inputs.section_4(2, 3, documents=4)
    said = texts(few, "syntax", "coreference", "syntax_noop")
    assert not [text for text in said if "interval " in text and "needs at least" not in text]
    assert not [text for text in said if "more than" in text or "told apart" in text or "whole interval" in text]
    assert any(text == "Measured, but not tested: the nearest candidate (40.2%)." for text in said)
    assert not [text for text in said if "for none of" in text.lower()]
    assert any("was not tested for the 23 relations" in text for text in said)
    assert "Accuracies have no intervals: an interval needs at least 10 documents." in said
    assert "These accuracies have no intervals, and nothing was tested: both need at least 10 documents." in said


@pytest.mark.parametrize(
    ("low", "high", "verdict", "told"),
    [
        (0.017, 0.052, "more", "+3.4 points (1.7 to 5.2)"),
        (-0.01, 0.052, "same", "+3.4 points (−1.0 to 5.2)"),
        (np.nan, np.nan, "untested", "+3.4 points"),
    ],
)
def test_a_comparison_is_read_off_its_interval(low, high, verdict, told):
    gap = Comparison(0.034, low, high)
    assert (verdicts([gap], least=0.01), gap.points()) == ([verdict], told)
    turned = {"more": "less", "less": "more"}.get(verdict, verdict)
    assert verdicts([gap.turned()], least=0.01) == [turned]
    assert gap.points(signed=False) == told.removeprefix("+")


def test_no_difference_larger_than_the_farther_end():
    assert Comparison(0.0, -0.012, 0.005).at_most() == "no difference larger than 1.2 points"


def test_a_comparison_that_was_not_made_is_none(inputs):
    assert compared(None, than="rules") is None
    assert compared(inputs.tables.get("coref_differences"), than="rules", mention_type="nobody") is None
    found = compared(inputs.tables.get("coref_differences"), than="rules", mention_type="all", seed=None)
    assert found is not None


def test_no_finding_compares_two_numbers_by_their_intervals():
    """Walks the report's and the atlas's code: no end of one interval is held against an end of another."""
    import headscope.analyses as analyses
    import headscope.reporting as atlas
    import headscope.reporting as reporting

    ends = {"low": {"low", "ci_low"}, "high": {"high", "ci_high"}}
    met = 0
    for package in (reporting, atlas, analyses):
        for path in sorted(Path(package.__file__).parent.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Compare):
                    continue
                names = [
                    {part.attr for part in ast.walk(side) if isinstance(part, ast.Attribute)}
                    for side in (node.left, *node.comparators)
                ]
                met += any(names)
                one, other = names[0], set().union(*names[1:])
                for left, right in (("low", "high"), ("high", "low")):
                    assert not (one & ends[left] and other & ends[right]), f"{path.name}:{node.lineno}"
    assert met > 50


def test_the_first_screen_has_a_sentence_of_each(inputs):
    assert [one.topic for one in headline(findings(inputs))] == ["position", "syntax", "coreference", "special"]


def test_a_run_without_them_says_nothing():
    assert texts(mock_inputs.encoder(1, 1), "syntax", "syntax_noop", "syntax_detail", "coreference") == []
