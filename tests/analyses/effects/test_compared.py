"""Measures side by side: their columns, rank agreement by scipy, heads ranked differently, and the line on the card."""

import numpy as np
import pytest
from scipy import stats

from headscope.analyses.effects.card_line import effect_lines
from headscope.analyses.effects.compared.figure import agreement_figure
from headscope.analyses.effects.compared.ranks import agreements, measured_heads, ranked_apart
from headscope.analyses.effects.compared.section import compared_findings, compared_section
from headscope.report_kit.report_parts import Context
from headscope.reporting.payload import data_block
from headscope.study.head_columns import head_columns
from support import mock_inputs
from support.measured import about, only
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
    assert [pair.rho for pair in pairs] == sorted((pair.rho for pair in pairs), reverse=True)
    for pair in pairs:
        assert pair.rho == pytest.approx(stats.spearmanr(heads[pair.first], heads[pair.second]).statistic)
        assert pair.ci_low <= pair.rho <= pair.ci_high


def test_heads_ranked_apart_are_named_with_their_ranks(heads):
    for named, ranks in ranked_apart(heads).iterrows():
        for name, rank in ranks.items():
            assert rank == 1 + (heads[name] > heads.loc[named, name]).sum()
        assert ranks.max() - ranks.min() > len(heads) / 2
    assert len(ranked_apart(heads))
    assert ranked_apart(heads[["output norm"]].assign(other=heads["output norm"])).empty


def test_what_is_said_and_drawn(run, heads):
    said = compared_findings(about(run))
    first = ranked_apart(heads).iloc[0]
    (layer, head), high, low = first.name, first.idxmin(), first.idxmax()
    assert any(
        each.text == f"Head {layer}-{head} is number {first[high]} of 12 by {high} and number {first[low]} by {low}."
        for each in said
    )
    assert all(len(each.text.split()) <= 25 for each in said)
    page = Tables(only(compared_section(about(run, found=said))))
    assert said[-1].text in page.text
    figure = agreement_figure(agreements(heads))
    (ax,) = figure.axes
    (points,) = [each for each in ax.collections if each.get_gid() == "pairs"]
    np.testing.assert_allclose(points.get_offsets()[:, 0], [pair.rho for pair in agreements(heads)])


def test_too_few_measures_are_not_compared():
    inputs = with_effects(mock_inputs.encoder(3, 4), gradient=False)
    assert compared_findings(about(inputs)) == []
    assert compared_section(about(inputs)) == []


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
