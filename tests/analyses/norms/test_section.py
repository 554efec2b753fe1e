"""What the report says and draws of how much heads write."""

import pytest

from headscope.analyses.norms.accumulator import KEY_CLASSES
from headscope.analyses.norms.activity import activities
from headscope.analyses.norms.findings import norm_findings
from headscope.analyses.norms.in_terminal import render_results
from headscope.analyses.norms.section import FIGURE, head_table, norm_section
from headscope.analyses.stage_result import StageResult
from support import mock_inputs
from support.measured import about
from support.mock_norms import with_norms


def test_inactive_heads_are_named_and_active_ones_on_sink_tokens():
    context = about(with_norms(mock_inputs.encoder(2, 4)))
    (kind,) = context.kinds
    heads = activities(context.run.tables.get("norms"), kind)
    assert [(one.layer, one.head) for one in heads if one.inactive] == [(1, 1), (2, 1)]
    for one in heads:  # weights on the first token and separators, as the table of statistics has them
        cells = [kind.cell(name, one.layer, one.head).value for name in ("cls", "sep")]
        assert one.sink_share == pytest.approx(sum(cells))
    said = [one.text for one in norm_findings(context)]
    assert said[0] == ("2 heads of 8 are inactive, with an output norm below 25% of the layer’s mean: 1-1 and 2-1.")


def test_heads_on_a_sink_token_are_counted_and_those_not_inactive_named():
    made = mock_inputs.encoder(6, 12)
    said = [one.text for one in norm_findings(about(with_norms(made)))]
    assert said[1:] == [
        "15 heads put over 50% of their attention on a sink token, and 1 of them is inactive.",
        "The others are not inactive: 3-2, 4-10, 4-9 and 11 more.",
        "5 heads are inactive, though at most 50% of their attention is on sink tokens: 1-1, 2-1, 3-1 and 2 more.",
    ]
    context = about(with_norms(made))
    heads = activities(context.run.tables.get("norms"), context.kinds[0])
    assert sum(bool(one.attends_to_sink) for one in heads) == 15
    assert sum(bool(one.attends_to_sink and one.inactive) for one in heads) == 1
    none = [one.text for one in norm_findings(about(with_norms(made, resting=0.9)))]
    assert none[1:] == [
        "15 heads put over 50% of their attention on a sink token, yet none is inactive: 3-2, 4-10, 4-9 and 12 more."
    ]


def test_each_sentence_says_of_which_kind_its_heads_are():
    findings = norm_findings(about(with_norms(mock_inputs.t5())))
    where = {"encoder": "of the encoder", "decoder": "of the decoder", "cross": "of cross attention"}
    assert {one.kind for one in findings} == set(where)
    assert all(where[one.kind] in one.text for one in findings)
    assert findings[-1].text == (
        "1 head of cross attention is inactive, though at most 50% of its attention is on sink tokens: 1-1."
    )


def test_no_head_is_inactive_where_the_interval_does_not_say_so():
    at_the_line = about(with_norms(mock_inputs.encoder(1, 3), resting=0.24))
    assert norm_findings(at_the_line)[0].text == (
        "No head of 3 is shown to be inactive: no output norm is shown to be below 25% of the layer’s mean."
    )
    active = about(with_norms(mock_inputs.encoder(1, 3), resting=0.5))
    assert norm_findings(active)[0].text == (
        "No head of 3 is inactive: every output norm is above 25% of the layer’s mean."
    )
    untested = about(with_norms(mock_inputs.encoder(1, 3), intervals=False))
    assert [one.text for one in norm_findings(untested)] == [
        "Which heads are inactive was not tested: an interval of the output norm needs at least 10 documents."
    ]


def test_the_section_has_both_axes_and_every_head():
    context = about(with_norms(mock_inputs.encoder(2, 4)))
    (section,) = norm_section(context)
    page = str(section.html)
    assert 'id="section-norms"' in page
    assert all(f'<th scope="row">{layer}-{head}</th>' in page for layer in (1, 2) for head in range(1, 5))
    ((name, draw),) = FIGURE.drawings(context).items()
    figure = draw()
    assert name == "figure-norms"
    places = {
        url: tuple(place)
        for points in figure.axes[0].collections
        for url, place in zip(points.get_urls() or [], points.get_offsets(), strict=False)
    }
    (kind,) = context.kinds
    for one in activities(context.run.tables.get("norms"), kind):
        assert places[f"#encoder-{one.layer}-{one.head}"] == pytest.approx((one.sink_share, one.relative.value))


def test_the_table_has_a_column_for_every_class_of_token():
    context = about(with_norms(mock_inputs.encoder(1, 2)))
    (kind,) = context.kinds
    table = head_table(context.run.tables.get("norms"), kind, context.words)
    assert table.groups[-1] == ("value norm by class", len(KEY_CLASSES))
    assert table.header[-5:] == ("[CLS]", "[SEP]", ". and ,", "other punctuation", "other")
    assert table.rows[0][-5:] == ("0.3", "0.4", "0.5", "0.6", "0.2")


def test_a_kind_without_numbers_is_left_out_and_a_run_without_the_table_has_no_section():
    assert norm_section(about(mock_inputs.encoder(1, 2))) == []
    assert norm_findings(about(mock_inputs.encoder(1, 2))) == []
    two = about(with_norms(mock_inputs.t5(), absent=("cross",)))
    assert list(FIGURE.drawings(two)) == ["figure-norms", "figure-norms-decoder"]


def test_the_terminal_names_inactive_heads():
    run = with_norms(mock_inputs.encoder(2, 4))
    grid, legend = render_results(StageResult(name="norms", tables={"norms": run.tables.get("norms")}))
    assert [row[-1] for row in grid.rows] == ["1-1", "2-1"]
    assert grid.rows[0][:4] == ["1", "3", "0.2", "0.1 to 1.9"]
    assert "inactive" in legend
