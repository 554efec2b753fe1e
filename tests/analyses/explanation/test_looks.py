"""What a head looks at: each step of the rule, on rows made by hand; and its first line, the same in every place."""

import json
import re

import pytest

from headscope.analyses.explanation.looks import head_looks, look_of
from headscope.present.head_functions import LOOKS
from headscope.present.kinds import kinds_of
from headscope.reporting.atlas_page import atlas_blocks
from headscope.reporting.head_summary import head_summaries
from headscope.reporting.payload import data_block
from headscope.reporting.study_words import summary_lines
from support import mock_inputs
from support.mock_explanation import with_explanation

ROW = {"mass": 0.5, "explained": 0.6, "to_explain": 1.5, "uniform": 4.0}


@pytest.mark.parametrize(
    ("changes", "shares", "color"),
    [
        ({}, {"previous": 0.4, "content": 0.1}, "previous"),
        ({}, {"previous": 0.1, "content": 0.2}, "content"),
        ({"mass": 0.04}, {"previous": 0.4}, "cls"),
        ({"mass": float("nan")}, {}, "cls"),
        ({"mass": 0.04, "to_explain": 0.1}, {"previous": 0.4}, "cls"),
        ({"to_explain": 0.86}, {"previous": 0.4}, "broad"),
        ({"to_explain": 0.88}, {"previous": 0.4}, "previous"),
        ({"explained": 0.33}, {"previous": 0.3}, "mixed"),
        ({"explained": 0.34}, {"previous": 0.3}, "previous"),
        ({"explained": float("nan")}, {"previous": 0.3}, "mixed"),
        ({}, {}, "mixed"),
        # What varies with the attending token says nothing of the tokens that are attended to.
        ({}, {"broad": 0.5, "word": 0.1}, "word"),
        ({}, {"broad": 0.5}, "mixed"),
    ],
)
def test_the_first_step_of_the_rule_that_holds_decides(changes, shares, color):
    look = look_of({**ROW, **changes}, shares)
    assert look.color == color
    assert look.color in LOOKS


def test_the_sink_has_what_is_not_off_it():
    assert look_of(ROW, {"previous": 0.4}).sink == pytest.approx(0.5)
    assert look_of({**ROW, "mass": float("nan")}, {}).sink == 1.0


def test_a_run_without_tested_explanations_has_none():
    run = mock_inputs.encoder(4, 8)
    assert all(head_looks(run, kind) == {} for kind in kinds_of(run))


def test_the_first_line_of_every_head_is_the_same_everywhere():
    run = with_explanation(mock_inputs.section_4(4, 8))
    summaries = head_summaries(run)
    (kind,) = kinds_of(run)
    page, atlas = data_block(run), atlas_blocks(run)["data"]
    assert json.dumps(page["kinds"]) == json.dumps(atlas["kinds"])
    lines, wrong = summary_lines(run), []
    for (name, layer, head), summary in summaries.items():
        index = kind.head_index(layer, head)
        on_page = "".join(page["kinds"][0]["summaries"][index])
        look = page["looks"][page["kinds"][0]["looks"][index]]["label"]
        places = {on_page, lines[name, layer, head], summary.text}
        if len(places) > 1:
            wrong.append(f"{layer}-{head}: {places}")
        if not re.match(rf"(Finds |{re.escape(look)}\b)", summary.text):
            wrong.append(f"{layer}-{head}: colored {look}, and called {summary.text}")
    assert not wrong, "\n".join(wrong)
