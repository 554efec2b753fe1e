"""The sentences, figure, table and terminal text on output norms."""

import math
import re

import pytest

from headscope.analyses.norms.facts import PAGE, PARTS, SINK_SHARE, Activity, activities
from headscope.analyses.norms.tables import KEY_CLASSES
from headscope.present.blocks import TableBlock
from headscope.present.cells import Cell
from headscope.present.linked_sentences import numbered
from headscope.present.table import html_of
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_norms import with_norms


def test_inactive_heads_are_named_and_active_ones_on_sink_tokens():
    context = about(with_norms(mock_inputs.encoder(2, 4)))
    (kind,) = context.kinds
    heads = activities(context, kind)
    assert [(one.head.layer, one.head.head) for one in heads if one.inactive] == [(1, 1), (2, 1)]
    for one in heads:  # weights on the first token and separators, as the table of statistics has them
        cells = [kind.cell(name, one.head.layer, one.head.head).value for name in ("cls", "sep")]
        assert one.sink_share == pytest.approx(sum(cells))
    said = [one.text for one in PARTS.findings(context)]
    assert said[0] == ("2 heads of 8 are inactive, with an output norm below 25% of the layer’s mean: 1-1 and 2-1.")


def test_heads_on_a_sink_token_are_counted_and_those_not_inactive_named():
    made = mock_inputs.encoder(6, 12)
    said = [one.text for one in PARTS.findings(about(with_norms(made)))]
    assert said[1:] == [
        "15 heads put over 50% of their attention on a sink token, and 1 of them is inactive.",
        "The others are not inactive: 3-2, 4-10, 4-9 and 11 more.",
        "5 heads are inactive, though at most 50% of their attention is on sink tokens: 1-1, 2-1, 3-1 and 2 more.",
    ]
    context = about(with_norms(made))
    heads = activities(context, context.kinds[0])
    assert sum(bool(one.attends_to_sink) for one in heads) == 15
    assert sum(bool(one.attends_to_sink and one.inactive) for one in heads) == 1
    none = [one.text for one in PARTS.findings(about(with_norms(made, resting=0.9)))]
    assert none[1:] == [
        "15 heads put over 50% of their attention on a sink token, yet none is inactive: 3-2, 4-10, 4-9 and 12 more."
    ]


def test_each_sentence_says_of_which_kind_its_heads_are():
    findings = PARTS.findings(about(with_norms(mock_inputs.t5())))
    where = {"encoder": "of the encoder", "decoder": "of the decoder", "cross": "of cross attention"}
    assert {one.kind for one in findings} == set(where)
    assert all(where[one.kind] in one.text for one in findings)
    assert findings[-1].text == (
        "1 head of cross attention is inactive, though at most 50% of its attention is on sink tokens: 1-1."
    )


def test_no_head_is_inactive_where_the_interval_does_not_say_so():
    at_the_line = about(with_norms(mock_inputs.encoder(1, 3), resting=0.24))
    assert PARTS.findings(at_the_line)[0].text == (
        "No head of 3 is shown to be inactive: no output norm is shown to be below 25% of the layer’s mean."
    )
    active = about(with_norms(mock_inputs.encoder(1, 3), resting=0.5))
    assert PARTS.findings(active)[0].text == (
        "No head of 3 is inactive: every output norm is above 25% of the layer’s mean."
    )
    untested = about(with_norms(mock_inputs.encoder(1, 3), intervals=False))
    assert [one.text for one in PARTS.findings(untested)] == [
        "Which heads are inactive was not tested: an interval of the output norm needs at least 10 documents."
    ]


def test_the_section_has_both_axes_and_every_head():
    context = about(with_norms(mock_inputs.encoder(2, 4)))
    (section,) = PARTS.sections(context)
    page = str(section.html)
    assert 'id="section-norms"' in page
    assert all(f'<th scope="row">{layer}-{head}</th>' in page for layer in (1, 2) for head in range(1, 5))
    ((name, draw),) = PARTS.figures[0].drawings(context).items()
    figure = draw()
    assert name == "figure-norms"
    places = {
        url: tuple(place)
        for points in figure.axes[0].collections
        for url, place in zip(points.get_urls() or [], points.get_offsets(), strict=False)
    }
    (kind,) = context.kinds
    for one in activities(context, kind):
        assert places[f"#encoder-{one.head.layer}-{one.head.head}"] == pytest.approx(
            (one.sink_share, one.relative.value)
        )


def test_the_table_has_a_column_for_every_class_of_token():
    context = about(with_norms(mock_inputs.encoder(1, 2)))
    (block,) = PAGE.filled(context.run).each(TableBlock)
    html = html_of(block, context)
    assert f'<th colspan="{len(KEY_CLASSES)}" scope="colgroup">value norm by class</th></tr>' in html
    titles = re.findall(r'scope="col">([^<]*)</th>', html)
    assert titles[-5:] == ["[CLS]", "[SEP]", ". and ,", "other punctuation", "other"]
    (row,) = re.findall(r'<tr><th scope="row">1-1</th>(.*?)</tr>', html)
    assert re.findall(r"<td>([^<]*)</td>", row)[-5:] == ["0.3", "0.4", "0.5", "0.6", "0.2"]


def test_a_kind_without_numbers_is_left_out_and_a_run_without_the_table_has_no_section():
    assert PARTS.sections(about(mock_inputs.encoder(1, 2))) == []
    assert PARTS.findings(about(mock_inputs.encoder(1, 2))) == []
    two = about(with_norms(mock_inputs.t5(), absent=("cross",)))
    assert list(PARTS.figures[0].drawings(two)) == ["figure-norms", "figure-norms-decoder"]


def test_the_terminal_has_the_sentences_the_largest_heads_and_the_definitions():
    lines = list(PAGE.terminal(with_norms(mock_inputs.encoder(2, 6))))
    (grid,) = [line for line in lines if not isinstance(line, str)]
    assert lines[0] == "- 2 heads of 12 are inactive, with an output norm below 25% of the layer’s mean: 1-1 and 2-1."
    assert [row[0] for row in grid.rows[:2]] == ["1-2", "2-2"]
    assert len(grid.rows) == 10
    assert "10 of 12 rows:" in "\n".join(line for line in lines if isinstance(line, str))
    assert any(line.startswith("Inactive head: ") for line in lines if isinstance(line, str))


def test_without_statistics_nothing_is_claimed_about_sinks():
    run = with_parts(with_norms(mock_inputs.encoder(2, 4)), stats=None)
    assert [one.text for one in PARTS.findings(about(run))] == [
        "2 heads of 8 are inactive, with an output norm below 25% of the layer’s mean: 1-1 and 2-1."
    ]


@pytest.mark.parametrize(("share", "attends"), [(0.0, False), (SINK_SHARE, False), (0.51, True), (1.0, True)])
def test_a_head_attends_to_the_sink_above_half(share, attends):
    head = Activity(numbered("encoder", 2, 3), Cell(1.0, 0.9, 1.1, math.nan, 30), False, share)
    assert head.attends_to_sink is attends
    assert head.disagrees is attends
