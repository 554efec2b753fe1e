"""Points of a large model's figures: written as uses of a shape, and where they were drawn."""

import re

import numpy as np
import pandas as pd
import pytest

from headscope.present.drawing import FEWEST, inline, stamped
from headscope.present.figures.stats_points import stats_points


def outline(corners):
    return "M " + "\nL ".join(f"{x:.2f} {y:.2f}" for x, y in corners) + "\nz\n"


def group_of(places, *, sides):
    """Points with a number of sides each, of radius 2, as matplotlib writes them."""
    points = []
    for number, ((x, y), side) in enumerate(zip(places, sides)):
        turn = 2 * np.pi * np.arange(side) / side
        corners = np.stack([x + 2 * np.cos(turn), y + 2 * np.sin(turn)], axis=1)
        points.append(f'<path data-head="1-{number + 1}" d="{outline(corners)}" style="a: {side}"/>')
    return f'<g id="heads--encoder--sep">{"".join(points)}</g>'


def test_each_point_stands_where_it_was_drawn():
    rng = np.random.default_rng(0)
    places, sides = rng.uniform(0, 500, (300, 2)), rng.choice([4, 20], 300)
    before = group_of(places, sides=sides)
    after = stamped(before, name="p")
    assert len(after) < 0.35 * len(before)
    shapes = {
        name: np.array(re.findall(r"[-\d.]+", d), dtype=float).reshape(-1, 2)
        for name, d in re.findall(r'<path id="(\w+)" d="([^"]*)"', after)
    }
    assert len(shapes) == 2
    uses = re.findall(
        r'<use data-head="([^"]*)" xlink:href="#(\w+)" x="([-\d.]+)" y="([-\d.]+)" style="a: (\d+)"/>', after
    )
    drawn = re.findall(r'<path data-head="([^"]*)" d="([^"]*)"', before)
    assert [one[0] for one in uses] == [one[0] for one in drawn]
    for (_, name, x, y, side), (_, d) in zip(uses, drawn, strict=True):
        corners = np.array(re.findall(r"[-\d.]+", d), dtype=float).reshape(-1, 2)
        assert len(corners) == int(side)
        assert np.abs(shapes[name] + [float(x), float(y)] - corners).max() < 0.12


def test_few_points_and_other_outlines_stay():
    few = group_of(np.zeros((FEWEST - 1, 2)), sides=[4] * (FEWEST - 1))
    assert stamped(few, name="p") == few
    curve = '<path data-head="9-9" d="M 1 2 \nC 3 4 5 6 7 8 \nz\n" style="b"/>'
    many = group_of(np.zeros((FEWEST, 2)), sides=[4] * FEWEST).replace("</g>", f"{curve}</g>")
    assert curve in stamped(many, name="p")
    curves = f"<g>{curve * FEWEST}</g>"
    assert stamped(curves, name="p") == curves


@pytest.mark.slow
def test_a_figure_of_a_thousand_heads_is_small_and_its_references_resolve():
    rng = np.random.default_rng(1)
    rows = [
        ("encoder", layer, head, statistic, rng.uniform(0, 0.3))
        for statistic in ("sep", "cls")
        for layer in range(1, 33)
        for head in [None, *range(1, 33)]
    ]
    table = pd.DataFrame(rows, columns=["kind", "layer", "head", "statistic", "value"]).astype({"head": "Int64"})
    table = table.assign(ci_low=table["value"] * 0.9, ci_high=table["value"] * 1.1, uniform=0.1, n_inputs=9)
    markup = str(inline(stats_points(table), name="x", label="y"))
    assert markup.count("data-head") == 2 * 1024
    assert len(markup) < 100 * 2 * 1024 + 40_000
    ids = re.findall(r'\bid="([^"]*)"', markup)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'xlink:href="#([^"]*)"', markup)) <= set(ids)
