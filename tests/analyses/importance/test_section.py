"""Gradient importance in the page: sentences that their intervals support, tables read back, and what is missing."""

import re
from functools import cache

import numpy as np
import pytest

from headscope.analyses.importance.facts import PARTS, layer_means
from headscope.present.numbers import thousandths
from support import mock_inputs
from support.measured import about, only, with_parts
from support.mock_importance import CLASSES, FACTOR, with_importance
from support.page_tables import Tables

pytestmark = pytest.mark.slow


@cache
def built(inputs):
    found = PARTS.findings(about(inputs))
    markup = only(PARTS.sections(about(inputs, found=found)))
    return [each for each in found if each.topic == "importance"], markup


def findings(inputs):
    return [each for each in PARTS.findings(about(inputs)) if each.topic == "importance"]


@pytest.fixture(scope="module")
def inputs():
    return with_importance(mock_inputs.encoder())


def ratios(inputs, layers, name, measure):
    """How many times less than other tokens, by the layers' means."""
    table = inputs.tables.get("importance")
    means = table[table["head"].isna() & (table["measure"] == measure)]
    value = means.set_index(["layer", "key_class"])["value"]
    return [value[layer, "other"] / value[layer, name] for layer in layers]


def ends(values):
    """The smallest and the largest, as the sentence writes them."""
    low, high = (f"{v:.0f}" if v >= 9.95 else f"{v:.1f}" for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def where(layers):
    return f"layers {layers[0]} to {layers[-1]}" if len(layers) > 2 else f"layers {layers[0]} and {layers[1]}"


def resting(inputs, name):
    """Layers whose average share stands out, by the rule: above a quarter and above twice uniform."""
    stats = inputs.stats
    rows = stats[stats["head"].isna() & (stats["statistic"] == name)]
    low = rows["ci_low"].fillna(rows["value"])
    return rows[(low > 0.25) & (low > 2 * rows["uniform"])]


def test_the_sentence_gives_both_measures_where_they_agree(inputs):
    found, markup = built(inputs)
    rows = resting(inputs, "cls")
    layers = rows["layer"].tolist()
    assert len(layers) > 1
    plain, weighted = (ends(ratios(inputs, layers, "cls", name)) for name in ("gradient", "weight_times_gradient"))
    expected = [
        f"The loss depends less on [CLS] than on other tokens in {where(layers)}.",
        f"By the gradient, a weight on [CLS] counts {plain} times less than one on other tokens.",
        f"By weight × gradient, a weight on [CLS] counts {weighted} times less than one on other tokens.",
    ]
    assert [one.text for one in found[:3]] == expected
    assert [one.goes_on for one in found[:3]] == [False, True, True]
    assert found[0].topic == "importance"
    assert " ".join(expected) in Tables(markup).text


def test_measures_that_disagree_are_said_to_disagree():
    """The issue's case: by the raw gradient the loss is all but indifferent to [CLS], by its product it is not."""
    inputs = with_importance(mock_inputs.encoder(), weighted={**FACTOR, "cls": 5.0})
    said = [one.text for one in built(inputs)[0]]
    layers = resting(inputs, "cls")["layer"].tolist()
    less = ends(ratios(inputs, layers, "cls", "gradient"))
    more = ends([1 / ratio for ratio in ratios(inputs, layers, "cls", "weight_times_gradient")])
    assert said[:3] == [
        f"Two measures disagree on how much the loss depends on [CLS] in {where(layers)}.",
        f"By the gradient, a weight on [CLS] counts {less} times less than one on other tokens.",
        f"By weight × gradient, a weight on [CLS] counts {more} times more than one on other tokens.",
    ]
    assert "indifferent" not in " ".join(said)


def test_one_measure_alone_is_said_to_be_alone():
    inputs = with_importance(mock_inputs.encoder(), even={("weight_times_gradient", "cls")})
    said = [one.text for one in built(inputs)[0]]
    layers = resting(inputs, "cls")["layer"].tolist()
    shown = sorted(1 / ratio for ratio in ratios(inputs, layers, "cls", "weight_times_gradient"))
    assert said[0] == f"Only by the gradient does the loss depend less on [CLS] in {where(layers)}."
    assert said[2] == (
        f"By weight × gradient, a weight on [CLS] is not shown to count differently ({shown[0]:.2f} to "
        f"{shown[-1]:.2f} times as much)."
    )


def test_where_it_matters_more_the_sentence_says_so():
    found, _ = built(with_importance(mock_inputs.encoder(), factor={**FACTOR, "cls": 3.0}))
    assert found[0].text.startswith("The loss depends more on [CLS] than on other tokens in layer")
    assert "times more than one on other tokens" in found[1].text


def test_nothing_is_said_where_no_difference_is_shown():
    both = {(measure, "cls") for measure in ("gradient", "weight_times_gradient")}
    inputs = with_importance(mock_inputs.encoder(), even=both)
    assert resting(inputs, "cls")["layer"].any()
    assert all("[CLS]" not in one.text for one in built(inputs)[0])


def test_marginal_intervals_decide_nothing(inputs):
    """Two intervals that overlap say nothing of a paired difference, nor do two that lie apart."""
    value = inputs.tables.get("importance")["value"]
    for low, high in ((0.05, 20), (0.999, 1.001)):
        wide = inputs.tables.get("importance").assign(ci_low=low * value, ci_high=high * value)
        changed = with_parts(inputs, importance=wide)
        assert findings(changed) == findings(inputs) != []
    assert findings(with_parts(inputs, importance_differences=None)) == []


def test_no_layer_at_rest_no_sentence():
    found, markup = built(with_importance(mock_inputs.random_weights()))
    assert found == []
    assert "table-gradient-encoder" in Tables(markup).found


def test_without_intervals_it_is_said_to_be_untested():
    found, markup = built(with_importance(mock_inputs.encoder(documents=4), intervals=False))
    assert found
    first = [one.text for one in found if not one.goes_on]
    assert all(text.startswith("As measured, ") for text in first)
    rows = Tables(markup).found["table-gradient-encoder"]
    assert rows[2][2] == "–"
    assert Tables(markup).found["table-importance-differences-encoder"][2][2] == "–"


def test_the_table_of_differences_is_the_frame(inputs):
    _, markup = built(inputs)
    rows = Tables(markup).found["table-importance-differences-encoder"]
    assert rows[0][1:4] == [f"{name}, gradient" for name in ("[CLS]", "[SEP]", "Periods and commas")]
    assert rows[0][4] == "[CLS], weight × gradient"
    frame = inputs.tables.get("importance_differences").set_index(["layer", "measure", "key_class"])
    for row in rows[2:]:
        place = 1
        for measure in ("gradient", "weight_times_gradient"):
            for name in ("cls", "sep", "period_comma"):
                own = frame.loc[int(row[0]), measure, name]
                read = [float(text.replace("−", "-")) for text in (row[place], *re.split(" to |–", row[place + 1]))]
                expected = [1000 * own[column] for column in ("difference", "ci_low", "ci_high")]
                assert read == pytest.approx(expected, rel=5e-3)
                place += 2
    assert thousandths(-0.0123456) == "−12.3"


def test_tables_hold_the_layers_means(inputs):
    _, markup = built(inputs)
    tables = Tables(markup).found
    for measure in ("gradient", "weight_times_gradient"):
        rows = tables[f"table-{measure.replace('_', '-')}-encoder"]
        gate = measure != "gradient"
        titles = ["", "[CLS]", "[SEP]", "Periods and commas", "Other tokens"]
        assert rows[0] == [*titles, "Gate estimate"][: 5 + gate]
        assert rows[1] == ["layer", *("mean", "95% interval", "n") * 4, *("mean", "95% interval") * gate]
        table = inputs.tables.get("importance")
        means = table[table["head"].isna() & (table["measure"] == measure)]
        for row in rows[2:]:
            own = means[means["layer"] == int(row[0])].set_index("key_class")
            for place, name in enumerate(CLASSES):
                value, interval, number = row[1 + 3 * place : 4 + 3 * place]
                assert float(value) == pytest.approx(1000 * own["value"][name], rel=5e-3)
                ends = [float(end) for end in interval.split("–")]
                assert ends == pytest.approx([1000 * own[c][name] for c in ("ci_low", "ci_high")], rel=5e-3)
                assert number == "200"
            if gate:
                layer = table[table["head"].isna() & (table["measure"] == "gate") & (table["layer"] == int(row[0]))]
                assert float(row[-2]) == pytest.approx(1000 * layer["value"].item(), rel=5e-3)


def test_the_page_says_which_loss(inputs):
    _, markup = built(inputs)
    text = Tables(markup).text
    assert (
        "The loss is that of masked language modeling: 3.46 nats a token on average over 200 segments, 1,800 tokens "
        "predicted."
    ) in text
    assert markup.count("<svg") == 2


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
    assert header == ["", *("The first token", "Periods and commas", "Other tokens")]


def test_a_run_without_gradients_has_no_section():
    found, markup = built(mock_inputs.encoder(2, 2))
    assert (found, markup) == ([], None)


def test_means_without_a_value_are_left_out():
    inputs = with_importance(mock_inputs.encoder(2, 2), absent=("period_comma",))
    assert layer_means(inputs.tables.get("importance"), "gradient", "period_comma", "encoder") == {}
    assert np.isnan(layer_means(inputs.tables.get("importance"), "gradient", "cls", "encoder")[1].uniform)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123456, "12.3"), (0.000552, "0.552"), (1.0, "1000"), (0.00000123, "0.00123")]
)
def test_numbers_have_three_digits_that_count(value, text):
    assert thousandths(value) == text
