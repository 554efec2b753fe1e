"""The small figures of the story: cells as full as the numbers, bars as long."""

import re

import numpy as np
import pytest

from headscope.present.kinds import kinds_of
from headscope.present.linked_sentences import MOST_DRAWN, STEP, Bars, HeadRef, Shades, bars, grid, sentence, shades
from headscope.reporting.story import small_figure
from support import mock_inputs
from support.measured import about

RECT = re.compile(r"<rect ([^>]*)>")


def cells(svg):
    """Every filled or framed cell by (layer, head): how full it is, and whether it has an edge."""
    found = {}
    for attributes in RECT.findall(svg):
        known = dict(re.findall(r'(\w+)="([^"]*)"', attributes))
        place = (int(known["y"]) // STEP + 1, int(known["x"]) // STEP + 1)
        full, edge = found.setdefault(place, (0.0, False))
        if known.get("class") == "on":
            full = float(known.get("opacity", 1))
        found[place] = (full, edge or known.get("class") == "named")
    return found


def test_shares_lie_between_none_and_all():
    assert shades([0.25, -1, 3, float("nan")]) == Shades((0.25, 0.0, 1.0, 0.0))


def test_a_grid_has_every_head_and_fills_those_that_are_named():
    drawn = cells(grid(2, 3, (), [(2, 1)]))
    assert drawn == {(a, b): (float((a, b) == (2, 1)), False) for a in (1, 2) for b in (1, 2, 3)}


def test_cells_are_as_full_as_the_numbers_and_named_ones_have_an_edge():
    drawn = cells(grid(1, 3, (0.5, 0.0, 1.0), [(1, 2)]))
    assert drawn == {(1, 1): (0.5, False), (1, 2): (0.0, True), (1, 3): (1.0, False)}


def test_bars_are_as_long_as_their_values():
    html = bars(Bars((("a", 0.2, "20%"), ("b", 0.8, "80%"), ("c", -1.0, "<"))))
    assert re.findall(r"width:(\d+)%", html) == ["25", "100", "0"]
    assert re.sub("<[^>]+>", " ", html).split() == ["a", "20%", "b", "80%", "c", "&lt;"]
    assert re.findall(r"width:(\d+)%", bars(Bars((("a", 0.0, "0"),)))) == ["0"]


def test_a_statistic_fills_the_cells_of_its_heads():
    (kind,) = kinds_of(mock_inputs.encoder(2, 3))
    values = kind.heads["sep"][..., 0].ravel()
    assert kind.shades("sep").amounts == pytest.approx(np.clip(values, 0, 1), abs=5e-4)
    even = kind.heads["entropy"][..., 3].ravel()
    ratios = kind.heads["entropy"][..., 0].ravel() / even
    assert kind.shades("entropy", of_uniform=True).amounts == pytest.approx(np.clip(ratios, 0, 1), abs=5e-4)
    assert kind.shaded({(2, 3): 0.4}).amounts == (0, 0, 0, 0, 0, 0.4)


def test_what_a_sentence_shows_is_its_bars_its_grid_or_the_heads_that_it_names():
    context = about(mock_inputs.encoder(2, 2))
    ref = HeadRef("encoder", 1, 2, "1-2")
    named = small_figure(context, sentence("x", ref, " does."))
    assert cells(named) == {(1, 1): (0, False), (1, 2): (1, False), (2, 1): (0, False), (2, 2): (0, False)}
    both = small_figure(context, sentence("x", ref, " does.", figure=Shades((0.1, 0.2, 0.3, 0.4))))
    assert cells(both)[1, 2] == (0.2, True)
    assert "small-bars" in small_figure(context, sentence("x", ref, figure=Bars((("a", 1.0, "1"),))))
    assert small_figure(context, sentence("x", "Nothing was tested.")) is None
    assert set(cells(small_figure(context, sentence("x", "No head does.", figure=Shades()))).values()) == {(0.0, False)}


def test_of_too_many_heads_no_grid_is_drawn():
    context = about(mock_inputs.encoder(27, 19))
    assert context.kinds[0].size > MOST_DRAWN
    assert small_figure(context, sentence("x", HeadRef("encoder", 1, 2, "1-2"))) is None
