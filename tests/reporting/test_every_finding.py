"""Sentences: made where the intervals support them, and not where they do not."""

import re

import numpy as np
import pytest

from headscope.present.cells import Cell
from headscope.present.claim_rules import stand_out
from headscope.present.kinds import kinds_of
from headscope.present.linked_sentences import measured
from headscope.reporting.story import findings, headline
from support import mock_inputs
from support.measured import with_parts
from support.mock_differences import stats_differences


def cell(value, low=None, high=None, uniform=0.01):
    return Cell(value, np.nan if low is None else low, np.nan if high is None else high, uniform, 200)


def texts(inputs, topic=None):
    return [one.text for one in findings(inputs) if topic in (None, one.topic)]


def put(inputs, statistic, head, *, kind="encoder", **values):
    """Change one row of the table of statistics; `head` is (layer, head) or (layer, None)."""
    stats = inputs.stats.copy()
    layer, number = head
    here = (stats["kind"] == kind) & (stats["layer"] == layer) & (stats["statistic"] == statistic)
    here &= stats["head"].isna() if number is None else (stats["head"] == number).fillna(False).astype(bool)
    assert here.sum() == 1
    for name, value in values.items():
        stats.loc[here, name] = value
    return with_parts(inputs, stats=stats, stats_differences=stats_differences(stats))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (cell(0.98, 0.97, 0.99), True),
        (cell(0.30, 0.24, 0.36), False),  # the interval reaches below a quarter
        (cell(0.30, 0.27, 0.33, uniform=0.15), False),  # not twice uniform
        (cell(0.30, 0.27, 0.33, uniform=0.13), True),
        (cell(0.30), True),  # no interval: the value is held to the rule
        (cell(0.20), False),
        (cell(np.nan), False),
    ],
)
def test_standing_out(one, expected):
    assert stand_out([one]) == [expected]


def test_position_names_the_strongest_heads_with_their_interval():
    inputs = mock_inputs.encoder()
    inputs = put(inputs, "previous", (1, 2), value=0.978, ci_low=0.971, ci_high=0.983)
    inputs = put(inputs, "next", (2, 4), value=0.612, ci_low=0.591, ci_high=0.629)
    assert texts(inputs, "position")[:2] == [
        "Head 1-2 puts 98% (95% interval 97 to 98) of its attention on the previous token, more than any other head.",
        "Head 2-4 puts 61% (95% interval 59 to 63) of its attention on the next token, more than any other head.",
    ]


@pytest.mark.parametrize(
    ("value", "low", "high", "told"),
    [
        (0.9772, 0.9771, 0.9774, "97.7% (95% interval 97.7 to 97.7)"),
        (0.9776, 0.9772, 0.9779, "97.8% (95% interval 97.7 to 97.8)"),
        (0.978, 0.971, 0.983, "98% (95% interval 97 to 98)"),
        (0.12, 0.09, 0.15, "12.0% (95% interval 9.0 to 15.0)"),
        (0.0171, 0.0101, 0.0248, "1.7% (95% interval 1.0 to 2.5)"),
        (0.978, None, None, "98%"),
    ],
)
def test_a_value_has_the_decimals_of_its_interval(value, low, high, told):
    assert "".join(measured(cell(value, low, high), "previous")) == told


def test_rank_is_claimed_only_beyond_the_runner_up():
    inputs = mock_inputs.encoder()
    inputs = put(inputs, "previous", (1, 2), value=0.70, ci_low=0.60, ci_high=0.80)
    inputs = put(inputs, "previous", (2, 6), value=0.65, ci_low=0.55, ci_high=0.75)
    alone = "Head 1-2 puts 70% (95% interval 60 to 80) of its attention on the previous token"
    assert texts(inputs, "position")[0] == f"{alone}."
    # Their intervals overlap and the difference is sure: documents that are high for one are high for the other.
    gaps = inputs.tables.get("stats_differences").copy()
    gaps.loc[gaps["statistic"] == "previous", ["ci_low", "ci_high"]] = [0.01, 0.09]
    assert texts(with_parts(inputs, stats_differences=gaps), "position")[0] == (f"{alone}, more than any other head.")


def test_more_than_half_needs_the_whole_interval():
    inputs = mock_inputs.encoder()
    claim = "2 of 72 heads put over half of their attention on the previous token (95% intervals above 50%): "
    assert f"{claim}1-2 and 2-6." in texts(inputs, "position")
    inputs = put(inputs, "previous", (2, 6), ci_low=0.49)
    assert not [text for text in texts(inputs, "position") if "over half" in text and "previous" in text]


def test_layers_that_rest_on_a_token_state_the_lowest_bound():
    inputs = mock_inputs.encoder()
    for layer in range(1, 7):
        low = {2: 0.37, 3: 0.50}.get(layer, 0.05)
        for statistic in ("sep", "period_comma"):
            inputs = put(inputs, statistic, (layer, None), value=0.1, ci_low=0.09, ci_high=0.11)
        inputs = put(inputs, "cls", (layer, None), value=low + 0.01, ci_low=low, ci_high=low + 0.02, uniform=0.016)
    assert texts(inputs, "special")[:2] == [
        "In layers 2 and 3, 38% to 51% of attention goes to [CLS], by layer (95% intervals above 37%).",
        "Uniform attention would give [CLS] 1.6% in layers 2 and 3.",
    ]
    for layer in (5, 6):
        inputs = put(inputs, "cls", (layer, None), value=0.6, ci_low=0.5, ci_high=0.7, uniform=0.016)
    assert texts(inputs, "special")[0].startswith("In layers 2, 3, 5 and 1 more, 38% to 60% of attention goes to [CLS]")


def test_noop_is_told_only_where_the_difference_is_sure():
    inputs = mock_inputs.encoder(2, 2)
    inputs = put(inputs, "sep_to_sep", (1, None), value=0.9, ci_low=0.88, ci_high=0.92)
    inputs = put(inputs, "other_to_sep", (1, None), value=0.5, ci_low=0.48, ci_high=0.52)
    inputs = put(inputs, "sep_to_sep", (2, None), value=0.5, ci_low=0.45, ci_high=0.55)
    inputs = put(inputs, "other_to_sep", (2, None), value=0.52, ci_low=0.49, ci_high=0.55)
    assert texts(inputs, "noop") == [
        "[SEP] tokens give [SEP] more attention than other tokens do in layer 1.",
        "In layer 1, [SEP] tokens put 90% (95% interval 88 to 92) of attention on [SEP], other tokens 50% (48 to 52).",
        "The difference in layer 1 is 40.0 points (38.6 to 41.4).",
        "In layer 2 no difference larger than 4.9 points is seen between [SEP] tokens and others.",
    ]
    # Intervals that overlap: the difference within documents decides.
    near = put(inputs, "sep_to_sep", (1, None), value=0.53, ci_low=0.50, ci_high=0.56)
    assert texts(near, "noop")[1].endswith("other tokens 50% (48 to 52).")
    assert texts(near, "noop")[2] == "The difference in layer 1 is 3.0 points (1.2 to 4.8)."
    inputs = put(inputs, "sep_to_sep", (1, None), value=0.5, ci_low=0.45, ci_high=0.55)
    assert texts(inputs, "noop") == [
        "In layers 1 and 2 no difference larger than 4.9 points is seen between [SEP] tokens and others."
    ]


def test_less_is_told_as_less():
    inputs = mock_inputs.encoder(1, 2)
    inputs = put(inputs, "sep_to_sep", (1, None), value=0.1, ci_low=0.09, ci_high=0.11)
    inputs = put(inputs, "other_to_sep", (1, None), value=0.5, ci_low=0.48, ci_high=0.52)
    assert texts(inputs, "noop") == ["[SEP] tokens give [SEP] less attention than other tokens do in layer 1."]


def test_random_weights_no_head_stands_out():
    found = findings(mock_inputs.random_weights())
    first = [one.text for one in headline(found)]
    bar = re.match(r"No head stands out: none puts (\d+)% or more of its attention on a neighboring token, ", first[0])
    assert bar
    shares = ("previous", "next", "current", "cls", "sep", "period_comma")
    stats = mock_inputs.random_weights().stats
    ends = stats[stats["head"].notna() & stats["statistic"].isin(shares)]["ci_high"]
    assert int(bar[1]) - 1 <= 100 * ends.max() < int(bar[1])
    # The threshold goes on from it, and stands on no first screen.
    assert found[1].goes_on
    assert found[1].text not in first
    everything = " ".join(one.text for one in found)
    for claim in (
        "over half",
        "more than any other",
        "narrowly focused",
        "of attention in layer",
        "of attention goes to",
    ):
        assert claim not in everything


def test_a_trained_model_does_not_say_that_nothing_stands_out():
    assert not texts(mock_inputs.encoder(), "none")


def test_broad_heads_need_the_whole_interval():
    inputs = mock_inputs.random_weights(1, 2)
    inputs = put(inputs, "entropy", (1, 1), value=4.0, ci_low=3.9, ci_high=4.1, uniform=5.0)
    inputs = put(inputs, "entropy", (1, 2), value=4.0, ci_low=3.95, ci_high=4.1, uniform=5.0)
    assert texts(inputs, "focus")[0] == (
        "1 of 2 heads attends broadly: entropy above 78% of uniform attention’s (whole 95% interval)."
    )
    barely = put(inputs, "entropy", (1, 2), ci_low=3.916)
    assert not [text for text in texts(barely, "focus") if "broadly:" in text]  # one of two by chance


def test_the_layer_of_broad_heads_is_said_where_it_is_not_by_chance():
    def broad(heads):
        inputs = mock_inputs.random_weights(2, 6)
        for layer, head in ((layer, head) for layer in (1, 2) for head in range(1, 7)):
            value = 4.5 if (layer, head) in heads else 3.0
            ends = {"ci_low": value - 0.05, "ci_high": value + 0.05, "uniform": 5.0}
            inputs = put(inputs, "entropy", (layer, head), value=value, **ends)
        return texts(inputs, "focus")[0]

    assert broad([(1, head) for head in range(1, 7)]).startswith("6 of 12 heads, all in layer 1, attend broadly")
    assert broad([(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]).startswith("5 of 12 heads attend broadly")


def test_narrow_heads_need_the_whole_interval():
    inputs = mock_inputs.encoder(1, 2, documents=3)
    inputs = put(inputs, "entropy", (1, 1), value=1.0, uniform=5.0)
    inputs = put(inputs, "entropy", (1, 2), value=2.0, uniform=5.0)
    assert texts(inputs, "focus") == []
    inputs = put(inputs, "entropy", (1, 2), ci_low=1.9, ci_high=2.51)
    assert texts(inputs, "focus") == []
    inputs = put(inputs, "entropy", (1, 2), ci_high=2.49)
    assert texts(inputs, "focus") == [
        "Head 1-2 is narrowly focused: its entropy is 2.00 nats (95% interval 1.90 to 2.49), where uniform attention "
        "has 5.00 nats."
    ]


def test_a_narrow_head_where_none_stands_out():
    inputs = mock_inputs.random_weights(1, 2)
    inputs = put(inputs, "entropy", (1, 2), value=2.0, ci_low=1.9, ci_high=2.1, uniform=5.0)
    assert texts(inputs, "none")
    assert texts(inputs, "focus")[1:3] == [
        "Head 1-2 is narrowly focused: its entropy is 2.00 nats (95% interval 1.90 to 2.10), where uniform attention "
        "has 5.00 nats.",
        "Head 1-2 stands out at no position, special token or punctuation.",
    ]


def test_no_head_stands_out_says_what_the_rule_was_held_to():
    inputs = mock_inputs.random_weights(1, 2, documents=3)
    inputs = put(inputs, "period_comma", (1, 2), value=0.12, uniform=0.1)
    found = [one.text for one in findings(inputs)]
    assert found[:2] == [
        "Whether a head stands out was not tested, which needs at least 10 documents.",
        "The largest share that was measured is 12%.",
    ]
    assert "whole 95% interval" not in " ".join(found)
    assert not texts(inputs, "focus")
    inputs = put(inputs, "previous", (1, 1), ci_low=0.0, ci_high=0.01)
    assert texts(inputs)[:2] == [
        "No head stands out: none puts 13% or more of its attention on a neighboring token, [CLS], [SEP], or periods "
        "and commas.",
        "A share stands out above a quarter and above twice uniform attention (10% here), with its whole 95% interval.",
    ]


def test_first_token_entropy_is_compared_within_documents():
    inputs = mock_inputs.encoder(1, 1)
    inputs = put(inputs, "entropy", (1, None), value=3.0, ci_low=2.9, ci_high=3.1)
    inputs = put(inputs, "entropy_cls", (1, None), value=3.89, ci_low=3.8, ci_high=3.95)
    assert texts(inputs, "focus")[-2:] == [
        "In the last layer [CLS] attends more broadly than average, by 0.89 nats (95% interval 0.83 to "
        "0.95) of entropy.",
        "The average entropy from [CLS] is 3.89 nats (95% interval 3.80 to 3.95), over all tokens 3.00 nats (2.90 to "
        "3.10).",
    ]
    inputs = put(inputs, "entropy", (1, None), value=3.85, ci_low=3.75, ci_high=3.95)
    assert texts(inputs, "focus")[-2] == (
        "In the last layer no difference in entropy larger than 0.10 nats is seen between [CLS] and the average token."
    )
    inputs = put(inputs, "entropy", (1, None), value=4.85, ci_low=4.75, ci_high=4.95)
    assert texts(inputs, "focus")[-2] == (
        "In the last layer [CLS] attends less broadly than average, by 0.96 nats (95% interval 0.90 to "
        "1.02) of entropy."
    )


def test_few_documents_state_values_as_measured():
    found = findings(mock_inputs.encoder(documents=3))
    told = [one.text for one in found]
    assert told[-1] == (
        "These values were measured on 3 documents and have no intervals: an interval needs at least 10 documents."
    )
    assert headline(found)[-1].text == told[-1]
    assert told[0] == "Head 1-2 puts 96% of its attention on the previous token."
    everything = " ".join(told[:-1])
    for claim in ("interval", "more than any other", "over half", "every layer", "broadly", "narrowly"):
        assert claim not in everything


def test_kinds_are_named_where_there_are_several():
    found = findings(mock_inputs.t5())
    assert any(one.text.startswith("Decoder head ") for one in found)
    assert any("cross attention" in one.text for one in found)
    assert {one.kind for one in found} == {"encoder", "decoder", "cross"}
    assert not any("the cross " in one.text for one in found)


def test_a_decoder_says_nothing_of_what_cannot_occur():
    everything = " ".join(texts(mock_inputs.decoder()))
    for absent in ("next token", "separator", "[SEP]", "[CLS]"):
        assert absent not in everything


def test_every_head_named_carries_its_number_and_place():
    inputs = mock_inputs.t5()
    for one in findings(inputs):
        for part in one.parts:
            if not isinstance(part, str):
                assert part.text.endswith(f"{part.layer}-{part.head}")
                assert part.anchor == f"{part.kind}-{part.layer}-{part.head}"


def test_every_interval_told_is_the_tables():
    inputs = mock_inputs.encoder()
    (kind,) = kinds_of(inputs)
    best = max(kind.each("previous"), key=lambda item: item[2].value)
    assert f"(95% interval {100 * best[2].ci_low:.1f} to {100 * best[2].ci_high:.1f})" in texts(inputs)[0]


def test_roles_are_counted_the_most_frequent_first_and_at_most_three_named():
    inputs = mock_inputs.encoder(2, 4)
    every = ["cls", "cls", "previous", "next", "broad", "broad", "sep", "mixed"]
    inputs = with_parts(inputs, roles=inputs.roles.assign(role=every))
    assert texts(inputs, "roles") == ["7 of 8 heads have a role: 2 [CLS], 2 broad, 1 previous token and 2 others."]
    inputs = with_parts(inputs, roles=inputs.roles.assign(role=["next"] + 7 * ["mixed"]))
    assert texts(inputs, "roles") == ["1 of 8 heads has a role: 1 next token."]
    inputs = with_parts(inputs, roles=inputs.roles.assign(role="mixed"))
    assert texts(inputs, "roles") == ["No head of 8 has a role."]


def test_headline_has_one_sentence_a_topic():
    first = headline(findings(mock_inputs.encoder()))
    assert [one.topic for one in first] == ["position", "special", "focus", "noop"]
    assert all(re.search(r"\d", one.text) for one in first)
