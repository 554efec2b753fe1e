"""Gradient importance in the page: sentences that their intervals support, tables read back, and what is missing."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.reporting.arrays import kinds_of
from headscope.reporting.importance_section import (
    importance_findings,
    importance_section,
    layer_means,
    loss_line,
    milli,
)
from headscope.reporting.words import words_for
from support import mock_inputs
from support.mock_importance import CLASSES, FACTOR, with_importance
from support.page_tables import Tables


def built(inputs, *, links=False):
    kinds, words = kinds_of(inputs), words_for(inputs.manifest)
    found = importance_findings(inputs, kinds, words)
    return found, importance_section(inputs, kinds, words, found, links=links)


@pytest.fixture(scope="module")
def inputs():
    return with_importance(mock_inputs.encoder())


def cell(inputs, layer, name, column):
    table = inputs.importance
    rows = table[
        table["head"].isna()
        & (table["layer"] == layer)
        & (table["measure"] == "gradient")
        & (table["key_class"] == name)
    ]
    return float(rows[column].iloc[0])


def resting(inputs, name):
    """Layers whose average share stands out, by the rule: above a quarter and above twice uniform."""
    surface = inputs.surface
    rows = surface[surface["head"].isna() & (surface["statistic"] == name)]
    low = rows["ci_low"].fillna(rows["value"])
    return rows[(low > 0.25) & (low > 2 * rows["uniform"])]


def test_the_sentence_says_how_much_less_the_loss_depends_on_the_first_token(inputs):
    found, markup = built(inputs)
    rows = resting(inputs, "cls")
    layers = rows["layer"].tolist()
    assert len(layers) > 1
    ratios = [cell(inputs, layer, "other", "value") / cell(inputs, layer, "cls", "value") for layer in layers]
    low, high = (f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" for value in (min(ratios), max(ratios)))
    where = (
        f"layers {layers[0]} to {layers[-1]}" if len(layers) > 2 else f"layers {layers[0]} and {layers[1]}"
    )
    expected = (
        f"In {where}, where the average head puts {100 * rows['value'].min():.0f}% to "
        f"{100 * rows['value'].max():.0f}% of its attention on [CLS], the loss depends on such a weight {low} to "
        f"{high} times less than on a weight on other tokens (the 95% intervals of the two lie apart)."
    )
    assert found[0].text == expected
    assert found[0].topic == "importance"
    assert expected in Tables(markup).text


def test_where_it_matters_more_the_sentence_says_so():
    found, _ = built(with_importance(mock_inputs.encoder(), factor={**FACTOR, "cls": 3.0}))
    assert "times more than on a weight on other tokens" in found[0].text


def test_nothing_is_said_where_the_intervals_meet(inputs):
    assert resting(inputs, "cls")["layer"].any()
    value = inputs.importance["value"]
    wide = inputs.importance.assign(ci_low=0.05 * value, ci_high=20 * value)
    kinds, words = kinds_of(inputs), words_for(inputs.manifest)
    assert importance_findings(replace(inputs, importance=wide), kinds, words) == []


def test_no_layer_at_rest_no_sentence():
    found, markup = built(with_importance(mock_inputs.random_weights()))
    assert found == []
    assert "table-gradient-encoder" in Tables(markup).found


def test_without_intervals_the_support_is_not_claimed():
    found, markup = built(with_importance(mock_inputs.encoder(documents=4), intervals=False))
    assert found
    assert "intervals" not in found[0].text
    rows = Tables(markup).found["table-gradient-encoder"]
    assert rows[2][2] == "–"


def test_tables_hold_the_layers_means(inputs):
    _, markup = built(inputs)
    tables = Tables(markup).found
    for measure in ("gradient", "weight_times_gradient"):
        rows = tables[f"table-{measure.replace('_', '-')}-encoder"]
        assert rows[0] == [
            "",
            *(f"{n}, 10⁻³ nats" for n in ("[CLS]", "[SEP]", "Periods and commas", "Other tokens")),
        ]
        assert rows[1] == ["layer", *("mean", "95% interval", "n") * 4]
        table = inputs.importance
        means = table[table["head"].isna() & (table["measure"] == measure)]
        for row in rows[2:]:
            own = means[means["layer"] == int(row[0])].set_index("key_class")
            for place, name in enumerate(CLASSES):
                value, interval, number = row[1 + 3 * place : 4 + 3 * place]
                assert float(value) == pytest.approx(1000 * own["value"][name], rel=5e-3)
                ends = [float(end) for end in interval.split("–")]
                assert ends == pytest.approx([1000 * own[c][name] for c in ("ci_low", "ci_high")], rel=5e-3)
                assert number == "200"


def test_the_page_says_which_loss(inputs):
    _, markup = built(inputs, links=True)
    text = Tables(markup).text
    assert (
        "The loss is that of masked language modelling: 3.46 nats a token on average over 200 segments, 1,800 tokens "
        "predicted."
    ) in text
    assert markup.count("<svg") == 2
    assert 'href="figures/figure-3.svg"' in markup
    assert loss_line({}) == ""


def test_each_kind_of_attention_has_its_part():
    inputs = with_importance(mock_inputs.t5())
    found, markup = built(inputs)
    assert markup.count("<svg") == 6
    assert {one.kind for one in found} <= {"encoder", "decoder", "cross"}
    for kind in ("encoder", "decoder", "cross"):
        assert f"table-gradient-{kind}" in Tables(markup).found


def test_a_class_that_cannot_occur_has_no_column():
    inputs = with_importance(mock_inputs.decoder(), absent=("sep",))
    _, markup = built(inputs)
    header = Tables(markup).found["table-gradient-decoder"][0]
    assert header == [
        "",
        *(f"{n}, 10⁻³ nats" for n in ("The first token", "Periods and commas", "Other tokens")),
    ]


def test_a_run_without_gradients_has_no_section():
    found, markup = built(mock_inputs.encoder(2, 2))
    assert (found, markup) == ([], None)


def test_means_without_a_value_are_left_out():
    inputs = with_importance(mock_inputs.encoder(2, 2), absent=("punctuation",))
    assert layer_means(inputs.importance, "gradient", "punctuation", "encoder") == {}
    assert np.isnan(layer_means(inputs.importance, "gradient", "cls", "encoder")[1].uniform)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123456, "12.3"), (0.000552, "0.552"), (1.0, "1000"), (0.00000123, "0.00123")]
)
def test_numbers_have_three_digits_that_count(value, text):
    assert milli(value) == text
