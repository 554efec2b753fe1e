"""Measures side by side: their columns, rank agreement by scipy, heads ranked differently, and the line on the card."""

import numpy as np
import pytest
from scipy import stats

from headscope.analyses.effects.head_effects import effect_lines
from headscope.analyses.effects.measure_facts import agreement_figure, agreements, measured_heads, shown_ranks
from headscope.present.head_columns import head_columns
from headscope.present.report_parts import Context
from headscope.reporting.payload import data_block
from support import mock_inputs
from support.effect_pages import sections, sentences
from support.measured import only, with_parts
from support.mock_effect_kept import with_effect_kept
from support.mock_effects import with_effects
from support.mock_explanation import with_explanation
from support.mock_norms import with_norms
from support.page_tables import Tables

WORDS = ["weight off the sink", "output norm", "gate estimate", "effect on the loss", "share explained"]


@pytest.fixture(scope="module")
def run():
    inputs = with_norms(mock_inputs.encoder(3, 4))
    return with_explanation(with_effects(inputs))


@pytest.fixture(scope="module")
def heads(run):
    (kind,) = Context.of(run).kinds
    return measured_heads(run, kind)


def test_the_measures_are_columns_of_heads(run, heads):
    columns = head_columns(run.tables.get).set_index(["layer", "head"])
    assert list(heads.columns) == WORDS
    assert len(heads) == 12
    np.testing.assert_array_equal(heads["gate estimate"], columns["effects.gate"])
    np.testing.assert_array_equal(heads["effect on the loss"], columns["effects.loss"].abs())
    stats_table = run.tables.get("stats")
    for (layer, head), value in heads["weight off the sink"].items():
        rows = stats_table[
            (stats_table["layer"] == layer)
            & (stats_table["head"] == head)
            & (stats_table["measure"] == "weight")
            & stats_table["statistic"].isin(["cls", "sep", "sink_logit"])
        ]
        assert value == pytest.approx(1 - rows["value"].sum())


def test_agreement_is_spearmans(heads):
    pairs = agreements(heads)
    assert len(pairs) == 10
    assert [pair.rho.value for pair in pairs] == sorted((pair.rho.value for pair in pairs), reverse=True)
    for pair in pairs:
        assert pair.rho.value == pytest.approx(stats.spearmanr(heads[pair.first], heads[pair.second]).statistic)
        assert pair.rho.ci_low <= pair.rho.value <= pair.rho.ci_high


def test_ranks_are_those_that_intervals_leave():
    """Against a plain loop over every two heads: one is ahead where it has more by its whole interval, and enough."""
    rng = np.random.default_rng(1)
    value, width = rng.normal(size=30), rng.uniform(0, 0.4, size=30)
    value[-1] = np.nan
    found = shown_ranks(value, value - width, value + width, least=0.2)
    for one in range(30):
        ahead = [each for each in range(30) if ahead_of(value, width, each, one)]
        behind = [each for each in range(30) if ahead_of(value, width, one, each)]
        assert found[one].tolist() == [1 + len(ahead), 30 - len(behind)]
    assert found[-1].tolist() == [1, 30]  # a head without a number can have any rank


def ahead_of(value, width, one, other):
    gap = value[one] - value[other]
    return gap > width[one] + width[other] and gap >= 0.2


def spread(run, *, width=0.0001, factor=1.0):
    """The run with output norms in the order of the heads, and effects the other way round; gates without intervals."""
    tables = {}
    for name, column, wanted, step in (
        ("norms", "statistic", "output_norm_in_stream", 0.05),
        ("effects", "measure", "loss", -0.05),
    ):
        table = run.table(name).copy()
        here = (table[column] == wanted) & table["head"].notna()
        value = factor * (0.7 + step * np.arange(here.sum()))
        table.loc[here, ["value", "ci_low", "ci_high"]] = np.stack([value, value - width, value + width], axis=1)
        tables[name] = table
    tables["effects"].loc[tables["effects"]["measure"] == "gate", ["ci_low", "ci_high"]] = np.nan
    return with_parts(run, **tables)


def apart(run):
    return [each.text for each in sentences(run, "measures_compared") if each.text.startswith("Head ")]


def test_heads_whose_ranks_are_shown_to_lie_apart_are_named(run):
    assert apart(spread(run)) == [
        "Head 3-4 is number 1 of 12 by output norm and number 12 by effect on the loss.",
        "Head 1-1 is number 1 of 12 by effect on the loss and number 12 by output norm.",
        "Head 3-3 is number 2 of 12 by output norm and number 11 by effect on the loss.",
    ]
    assert apart(spread(run, width=0.06))[0] == (
        "Head 3-4 is among the first 3 of 12 by output norm and among the last 3 by effect on the loss."
    )


def test_ranks_that_are_not_shown_are_not_named(run):
    assert apart(spread(run, width=0.5)) == []  # intervals overlap
    assert apart(spread(run, width=0.0, factor=1e-4)) == []  # heads differ by less than a sentence is worth


def test_no_measure_ranks_effects_that_are_not_shown(run):
    effects = run.table("effects").assign(q_value=0.5)
    texts = [each.text for each in sentences(with_parts(run, effects=effects), "measures_compared")]
    assert not [text for text in texts if "effect on the loss:" in text or "no other measure" in text]


def test_what_is_said_and_drawn(run, heads):
    said = sentences(run, "measures_compared")
    assert said[0].text.startswith("Gate estimate ranks heads most like the effect on the loss: rank correlation 1.00")
    assert all(len(each.text.split()) <= 25 for each in said)
    page = Tables(only(sections(run, "measures-compared")))
    assert said[-1].text in page.text
    figure = agreement_figure(agreements(heads))
    (ax,) = figure.axes
    (points,) = [each for each in ax.collections if each.get_gid() == "pairs"]
    np.testing.assert_allclose(points.get_offsets()[:, 0], [pair.rho.value for pair in agreements(heads)])


def test_too_few_measures_are_not_compared():
    inputs = with_effects(mock_inputs.encoder(3, 4), gradient=False)
    assert sentences(inputs, "measures_compared") == []
    assert sections(inputs, "measures-compared") == []


def test_the_card_says_what_a_head_does_to_the_model():
    inputs = with_effect_kept(with_explanation(mock_inputs.decoder(2, 4)), kept={(1, 2): 0.7})
    inputs = with_effects(inputs, intervention="zero", direct=True)
    (kind,) = Context.of(inputs).kinds
    lines = effect_lines(inputs, kind)
    assert lines[1] == (
        "without it, 0.100 nats of loss are added (0.098 to 0.102); its explanation keeps 70% of the effect of its "
        "attention (60 to 80); direct effect on the logit 0.300 (0.298 to 0.302); compensation 0.100 (0.098 to 0.102)"
    )
    # Uniform attention in the first head costs nothing: there is no effect to keep.
    assert "keeps" not in lines[0]
    (block,) = data_block(inputs)["kinds"]
    assert block["lines"] == lines
    plain = mock_inputs.decoder(2, 4)
    assert effect_lines(plain, Context.of(plain).kinds[0]) == {}
    sink = with_effects(mock_inputs.decoder(2, 4), intervention="sink")
    line = effect_lines(sink, Context.of(sink).kinds[0])[0]
    assert line == "with all its attention on a sink, 0.200 nats of loss are added (0.198 to 0.202)"
