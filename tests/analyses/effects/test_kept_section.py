"""What explanations keep, in the page and the terminal: sentences, the heads that are named, a table read back."""

import numpy as np
import pytest

from headscope.analyses.effects.kept_facts import kept_figure, sure_heads
from headscope.present.study import Study
from headscope.reporting.story import all_findings, headline
from support import mock_inputs
from support.effect_pages import sections, sentences, terminal
from support.measured import about, with_parts
from support.mock_effect_kept import with_effect_kept
from support.mock_explanation import with_explanation
from support.page_tables import Tables

IDLE, CARRYING = {(1, 2): -0.3, (2, 1): 0.1}, {(2, 4): 0.9}


@pytest.fixture(scope="module")
def inputs():
    run = with_explanation(mock_inputs.encoder(2, 4))
    return with_effect_kept(run, kept={**IDLE, **CARRYING})


def said(inputs):
    return sentences(inputs, "effect_kept")


def test_what_is_said(inputs):
    # The mock explains 0.9 to 0.77 of every head: less than half of one of them, here.
    table = inputs.table("explanation").copy()
    table.loc[(table["layer"] == 2) & (table["head"] == 4), "explained"] = 0.3
    found = said(with_parts(inputs, explanation=table))
    assert [each.text for each in found] == [
        "With every head’s attention replaced by its explanation the model loses 0.216 nats; with uniform attention "
        "5.400.",
        "Explanations keep 96% of the effect of attention (95% interval 95 to 97); positions alone lose 2.700 nats.",
        "Over half of the attention of 2 heads is explained, but less than half of the effect kept: 1-2 and 2-1.",
        "Less than half of the attention of 1 head is explained, but over half of the effect kept: 2-4.",
    ]
    assert [each.goes_on for each in found] == [False, True, False, False]
    assert {each.topic for each in found} == {"effect_kept"}
    assert all(len(each.text.split()) <= 25 for each in found)


def test_it_is_a_headline_beside_the_explanation(inputs):
    first = headline(all_findings(about(inputs)))
    assert [each.topic for each in first][:2] == ["explanation", "effect_kept"]


def test_without_intervals_the_losses_are_said_and_nothing_is_named():
    found = said(with_effect_kept(mock_inputs.encoder(2, 4), kept=IDLE, intervals=False))
    assert [each.text for each in found] == [
        "With every head’s attention replaced by its explanation the model loses 0.216 nats; with uniform attention "
        "5.400.",
        "Predicting attention from positions alone loses 2.700 nats.",
    ]


def test_the_section_has_its_table_and_figure(inputs):
    (section,) = sections(inputs, "effect-kept")
    assert (section.name, section.title) == ("effect-kept", "Is the explanation the cause?")
    assert "The loss is that of masked language modeling: 4.44 nats a token with all heads unchanged" in section.html
    rows = Tables(section.html).found["table-effect-kept-encoder"][2:]
    assert [row[0] for row in rows][:3] == ["layer 1", "layer 2", "1-2"]
    assert rows[-1][0] == "1-1"  # uniform attention costs it least
    of = {row[0]: row[1:] for row in rows}
    assert of["1-2"] == ["0.033", "0.043", "0.017", "−30", "−40 to −20", "83"]
    assert of["1-1"][3:5] == ["–", "–"]


def test_no_section_without_its_table():
    assert sections(mock_inputs.encoder(2, 4), "effect-kept") == []
    assert said(mock_inputs.encoder(2, 4)) == []


def test_a_point_for_each_head_whose_effect_is_sure(inputs):
    heads = sure_heads(about(inputs), about(inputs).kind("encoder"))
    assert len(heads) == 7
    figure = kept_figure(heads, kind="encoder", roles=None)
    (ax,) = figure.axes
    points = np.concatenate([c.get_offsets() for c in ax.collections if str(c.get_gid()).startswith("heads--")])
    np.testing.assert_allclose(points, [(share, each.kept.value) for each, share in heads])
    assert all(ax.get_ylim()[0] <= y <= ax.get_ylim()[1] for _, y in points)


def test_in_the_terminal(inputs):
    tables = {"effect_kept": inputs.table("effect_kept")}
    (grid,), lines = terminal(Study(inputs.manifest, tables))
    assert len(grid.rows) == 8 + 2
    assert [row[0] for row in grid.rows[:3]] == ["layer 1", "layer 2", "1-2"]
    assert grid.rows[2] == ["1-2", "0.033", "0.043", "0.017", "-30", "-40 to -20"]
    assert lines[0].startswith("- The loss is that of masked language modeling: 4.44 nats a token")
    assert lines[1].startswith("- With every head’s attention replaced by its explanation")
