"""Estimates judged by exact effects: against plain loops, the interval of the slope, and what is said and shown."""

import numpy as np
import pytest
from scipy import stats

from headscope.analyses.effects.compute import chosen_heads
from headscope.analyses.effects.estimate_facts import estimate_figure
from headscope.analyses.effects.estimates import estimates_table, judged_of, slope_of
from headscope.analyses.effects.tables import EFFECT_ESTIMATES, EFFECTS
from headscope.statistics.inference.confidence import ratio_interval
from support import mock_inputs
from support.effect_pages import sections, sentences, terminal
from support.measured import only, with_parts
from support.mock_effects import with_effects
from support.page_tables import Tables
from support.stand_ins import table_of

LAYERS, HEADS = 3, 8


def made_up_effects(*, gradient=True, seed=0):
    """24 heads of which three matter most: one that both estimates find, one that the gate alone does, one missed."""
    rng = np.random.default_rng(seed)
    loss = rng.normal(0, 0.02, (LAYERS, HEADS))
    attribution = loss / 2 + rng.normal(0, 0.006, loss.shape)
    gate = np.abs(loss) + rng.uniform(0, 0.01, loss.shape)
    loss[0, 1], attribution[0, 1], gate[0, 1] = 0.9, 0.5, 0.5
    loss[1, 2], attribution[1, 2], gate[1, 2] = 0.5, -0.007, 0.4
    loss[2, 3], attribution[2, 3], gate[2, 3] = -0.4, 0.0001, 0.0001
    q = np.where(np.abs(loss) > 0.005, 0.01, 0.5)
    rows = []
    for layer, head in np.ndindex(LAYERS, HEADS):
        values = {"loss": loss, "kl": np.abs(loss), **({"attribution": attribution, "gate": gate} if gradient else {})}
        for measure, numbers in values.items():
            value = numbers[layer, head]
            rows.append(
                {
                    "kind": "decoder", "layer": layer + 1, "head": head + 1, "intervention": "mean",
                    "measure": measure, "value": value, "ci_low": value - 0.001, "ci_high": value + 0.001,
                    "q_value": q[layer, head] if measure == "loss" else np.nan, "n_inputs": 96,
                }
            )  # fmt: skip
    return table_of(EFFECTS, rows), loss, {"attribution": attribution, "gate": gate}, q


def cell(table, estimate, measure, layer=None):
    rows = table[(table["estimate"] == estimate) & (table["measure"] == measure)]
    (row,) = rows[rows["layer"].isna() if layer is None else rows["layer"] == layer].to_dict("records")
    return row


@pytest.mark.parametrize("layer", [None, 1, 2, 3])
def test_verdicts_are_those_of_plain_loops(layer):
    effects, loss, estimates, q = made_up_effects()
    table = estimates_table(effects)
    assert list(table.columns) == EFFECT_ESTIMATES.names
    heads = [(at, head) for at in range(LAYERS) for head in range(HEADS)]
    here = [each for each in heads if layer is None or each[0] == layer - 1]
    number = 3  # a tenth of 24, rounded up
    large = set(sorted(heads, key=lambda each: -abs(loss[each]))[:number])
    for name, guess in estimates.items():
        in_order = sorted(heads, key=lambda each: -abs(guess[each]))
        among = [each for each in here if each in large]
        for measure, chosen in (("recall", set(in_order[:number])), ("missed", set(in_order[12:]))):
            row = cell(table, name, measure, layer)
            assert row["n_heads"] == len(among)
            assert row["value"] == pytest.approx(np.mean([each in chosen for each in among]))
            assert np.isnan(row["ci_low"])  # of fewer than 10 heads
        row = cell(table, name, "slope", layer)
        y = np.array([abs(loss[each]) if name == "gate" else loss[each] for each in here])
        x = np.array([guess[each] for each in here])
        slopes = [(y[i] - y[j]) / (x[i] - x[j]) for i in range(len(x)) for j in range(i)]
        assert row["value"] == pytest.approx(np.median(slopes))
        assert row["n_heads"] == len(here)
        assert np.isnan(row["ci_low"]) == (layer is not None)
    sure = [each for each in here if q[each] < 0.05 and abs(loss[each]) >= 0.01]
    wrong = [np.sign(loss[each]) != np.sign(estimates["attribution"][each]) for each in sure]
    row = cell(table, "attribution", "wrong_signs", layer)
    assert (row["value"], row["n_heads"]) == (pytest.approx(np.mean(wrong)), len(sure))
    if layer is None:
        assert sum(wrong) >= 2
        interval = ratio_interval(np.array(wrong, dtype=float), np.ones(len(wrong)), scale="share")
        assert (row["ci_low"], row["ci_high"]) == (
            pytest.approx(float(interval.low)),
            pytest.approx(float(interval.high)),
        )
    assert not ((table["estimate"] == "gate") & (table["measure"] == "wrong_signs")).any()


def test_one_large_effect_does_not_decide_on_the_slope():
    rng = np.random.default_rng(3)
    x = 0.01 * rng.standard_t(2, size=32)
    y = 1.5 * x + 0.002 * rng.normal(size=32)
    y[np.argmax(np.abs(x))] *= 100
    interval = slope_of(x, y)
    assert interval.low <= 1.5 <= interval.high < 2
    assert stats.linregress(x, y).slope > 15


def test_estimates_that_are_all_the_same_have_no_slope():
    interval = slope_of(np.zeros(20), np.arange(20.0))
    assert np.isnan([interval.value, interval.low, interval.high]).all()


def run_of(effects):
    inputs = with_effects(mock_inputs.decoder(LAYERS, HEADS))
    return with_parts(inputs, effects=effects, effect_estimates=estimates_table(effects))


def test_what_is_said():
    effects, loss, estimates, q = made_up_effects()
    said = sentences(run_of(effects), "effect_estimates")
    assert list(judged_of(effects, "decoder")) == ["attribution", "gate"]
    sure = (q < 0.05) & (np.abs(loss) >= 0.01)
    wrong = sum((np.sign(loss) != np.sign(estimates["attribution"]))[sure])
    slope = stats.theilslopes(loss.ravel(), estimates["attribution"].ravel())
    texts = [each.text for each in said]
    assert texts[0] == (
        "Attribution finds 1 of the 3 heads with the largest effects (of the top tenth), the gate estimate 2."
    )
    assert texts[1].startswith(f"Attribution has the wrong sign for {wrong} of {sure.sum()} heads that change the ")
    assert texts[2].startswith(
        f"Effects are {slope.slope:.2f} times their attribution (95% interval {slope.low_slope:.2f} to"
    )
    assert texts[3:] == [
        f"{name} misses head 3-4, whose effect is −0.400 nats: it is in the lower half by estimate."
        for name in ("Attribution", "The gate estimate")
    ]
    assert all(len(each.text.split()) <= 25 for each in said)


def test_effects_that_are_not_shown_are_not_looked_for():
    """The largest of 24 effects of nothing are found by any estimate by chance, and their slope is that of chance."""
    for q_value, size in ((0.5, 1.0), (0.01, 0.001)):
        effects = made_up_effects()[0]
        of_loss = effects["measure"] == "loss"
        effects.loc[of_loss, "q_value"] = q_value
        effects.loc[of_loss, "value"] *= size
        table = estimates_table(effects)
        assert table["value"].isna().all()
        assert sentences(run_of(effects), "effect_estimates") == []


def test_several_missed_heads_are_listed():
    effects = made_up_effects()[0]
    of_large = effects["layer"].isin([1, 2]) & effects["head"].isin([2, 3]) & (effects["measure"] == "attribution")
    effects.loc[of_large, "value"] = 0.0
    texts = [each.text for each in sentences(run_of(effects), "effect_estimates")]
    assert (
        "Attribution finds 0 of the 3 heads with the largest effects (of the top tenth), the gate estimate 2." in texts
    )
    assert "Attribution misses 3 of these heads, which are in its lower half: 1-2, 2-3 and 3-4." in texts


def test_a_slope_that_may_be_0_is_said_to_tell_nothing():
    effects = made_up_effects()[0]
    of_attribution = effects["measure"] == "attribution"
    effects.loc[of_attribution, "value"] = np.random.default_rng(6).normal(size=of_attribution.sum())
    (text,) = [
        each.text for each in sentences(run_of(effects), "effect_estimates") if "the size of effects" in each.text
    ]
    assert text.startswith("Attribution does not predict the size of effects: their slope on it is ")


def test_a_model_without_estimates_has_no_section():
    effects = made_up_effects(gradient=False)[0]
    table = estimates_table(effects)
    assert len(table) == 0
    assert list(table.columns) == EFFECT_ESTIMATES.names
    assert sentences(run_of(effects), "effect_estimates") == []
    assert sections(run_of(effects), "effect-estimates") == []


def test_the_page_has_a_table_by_layer_and_a_figure():
    effects, *_ = made_up_effects()
    run = run_of(effects)
    page = Tables(only(sections(run, "effect-estimates")))
    rows = page.found["table-effect-estimates-decoder"]
    assert rows[1] == [
        "heads",
        "recall",
        "missed",
        "wrong sign",
        "slope",
        "95% interval",
        "recall",
        "missed",
        "slope",
        "95% interval",
    ]
    assert [row[0] for row in rows[2:]] == ["all heads", "layer 1", "layer 2", "layer 3"]
    assert rows[2][1:3] == ["1 of 3", "1 of 3"]
    assert rows[4][1:3] == ["0 of 1", "0 of 1"]
    assert "Attribution finds 1 of the 3 heads" in page.text
    judged = judged_of(effects, "decoder")["attribution"]
    (ax,) = estimate_figure(judged, "attribution", kind="decoder", roles=run.roles).axes
    points = np.concatenate(
        [each.get_offsets() for each in ax.collections if (each.get_gid() or "").startswith("heads--")]
    )
    by_effect = points[np.argsort(points[:, 1])]
    np.testing.assert_allclose(by_effect, judged.sort_values("effect")[["guess", "effect"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("attribution, nats", "added loss, nats")


def some_changed():
    """Of 24 heads 12 are changed: 6 with the largest gates, and 6 of the others, one of which costs a lot."""
    effects, loss, estimates, _ = made_up_effects()
    in_order = sorted(np.ndindex(LAYERS, HEADS), key=lambda each: -estimates["gate"][each])
    changed = {*in_order[:6], *in_order[8:13], (2, 3)}
    gone = [
        row.measure in ("loss", "kl") and (row.layer - 1, row.head - 1) not in changed for row in effects.itertuples()
    ]
    return effects[~np.array(gone)].reset_index(drop=True), loss, changed, in_order


def test_where_some_heads_were_changed_the_drawn_ones_say_what_is_overlooked():
    effects, loss, changed, in_order = some_changed()
    table = estimates_table(effects)
    assert not table["measure"].isin(["recall", "missed"]).any()
    drawn = changed - set(in_order[:6])
    assert (2, 3) in drawn
    matters = [abs(loss[each]) >= 0.01 for each in drawn]
    row = cell(table, "gate", "overlooked")
    assert (row["value"], row["n_heads"]) == (pytest.approx(np.mean(matters)), 6)
    assert cell(table, "attribution", "slope")["n_heads"] == 12
    run = run_of(effects)
    texts = [each.text for each in sentences(run, "effect_estimates")]
    assert texts[0] == (
        f"{sum(matters)} of 6 drawn heads with small gate estimates change the loss by 0.01 nats or more."
    )
    assert not any("finds" in text or "misses" in text for text in texts)
    said = [each.text for each in sentences(run, "effects", "effects_aside")]
    assert said[0] == "12 heads of 24 were changed: half with the largest gate estimates, half drawn from the others."
    assert all(len(each.split()) <= 25 for each in (*texts, *said))
    assert f"- {said[0]}" in terminal(run)[1]
    without = run_of(effects[~effects["measure"].isin(["attribution", "gate"])].reset_index(drop=True))
    assert sentences(without, "effects", "effects_aside")[0].text == "12 heads of 24 were changed: drawn by chance."
    rows = Tables(only(sections(run, "effect-estimates"))).found["table-effect-estimates-decoder"]
    assert rows[1] == ["heads", "wrong sign", "slope", "95% interval", "overlooked", "slope", "95% interval"]
    assert len(Tables(only(sections(run, "effects"))).found["table-effects-decoder"]) == 2 + 12


def test_the_heads_that_are_changed_are_those_with_the_largest_gates_and_a_draw_of_the_others():
    rng = np.random.default_rng(2)
    gates = {"encoder": rng.uniform(size=(4, 6)), "cross": rng.uniform(size=(2, 6))}
    every = {(kind, *at): value for kind, values in gates.items() for at, value in np.ndenumerate(values)}
    largest = set(sorted(every, key=every.get)[-6:])
    draws = []
    for seed in range(300):
        chosen = {(*layer, head) for layer, heads in chosen_heads(gates, 11, seed=seed).items() for head in heads}
        assert len(chosen) == 11
        assert largest <= chosen
        draws += chosen - largest
    assert chosen_heads(gates, 11, seed=4) == chosen_heads(dict(reversed(gates.items())), 11, seed=4)
    numbers = [draws.count(each) for each in every if each not in largest]
    assert stats.chisquare(numbers).pvalue > 0.001  # each of the others as often
    whole = chosen_heads(gates, 99, seed=0)
    assert {layer: list(heads) for layer, heads in whole.items()} == {
        (kind, layer): list(range(6)) for kind, values in gates.items() for layer in range(len(values))
    }


def test_sentences_on_kinds_are_short_where_they_have_their_intervals():
    """Of two kinds of 72 heads each, half of them changed."""
    rng, rows = np.random.default_rng(8), []
    for kind in ("encoder", "cross"):
        for layer, head in np.ndindex(6, 12):
            loss = rng.normal(0, 0.02)
            values = {"gate": abs(loss) + rng.uniform(0, 0.01), "attribution": loss + rng.normal(0, 0.03)}
            values |= {"loss": loss, "kl": abs(loss)} if head % 2 else {}
            rows += [
                {
                    "kind": kind, "layer": layer + 1, "head": head + 1, "intervention": "mean", "measure": measure,
                    "value": value, "ci_low": value - 0.001, "ci_high": value + 0.001,
                    "q_value": 0.01 if measure == "loss" else np.nan, "n_inputs": 96,
                }
                for measure, value in values.items()
            ]  # fmt: skip
    effects = table_of(EFFECTS, rows)
    inputs = with_effects(mock_inputs.t5())
    table = estimates_table(effects)
    said = sentences(with_parts(inputs, effects=effects, effect_estimates=table), "effect_estimates")
    assert {each.kind for each in said} == {"encoder", "cross"}
    assert sum("95% interval" in each.text for each in said) == 6
    assert all(len(each.text.split()) <= 25 for each in said), [each.text for each in said]
    assert (table["n_heads"] > 10).any()
