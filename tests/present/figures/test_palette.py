"""The palette can be read by everyone: contrast by the WCAG formula, shapes that differ."""

import itertools

import numpy as np
import pytest

from headscope.palette import SCHEMES, css_variables, palette
from headscope.present.figures.style import role_outline


def luminance(color):
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_formula_on_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_has_contrast_aa(scheme):
    page = palette().page
    for ink, paper in itertools.product(("ink", "soft"), ("paper", "card")):
        assert contrast(getattr(page[ink], scheme), getattr(page[paper], scheme)) >= 4.5, (ink, paper)
    for name, role in palette().roles.items():
        assert contrast(getattr(role.on, scheme), getattr(role.fill, scheme)) >= 4.5, name


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lines_and_points_have_contrast_for_graphics(scheme):
    for name, role in palette().roles.items():
        for paper in ("paper", "card"):
            assert contrast(getattr(role.line, scheme), getattr(palette().page[paper], scheme)) >= 3, (name, paper)


def test_light_fills_of_the_behaviors_are_okabe_ito():
    fills = {name: role.fill.light for name, role in palette().roles.items()}
    assert fills["previous"] == "#0072b2"
    assert fills["next"] == "#e69f00"
    assert fills["cls"] == "#cc79a7"
    assert fills["sep"] == "#d55e00"
    assert fills["period_comma"] == "#f0e442"
    assert fills["syntax"] == "#009e73"
    assert fills["coreference"] == "#56b4e9"


def test_shapes_differ_and_lie_in_their_box():
    outlines = {name: role_outline(name) for name in palette().roles}
    for name, outline in outlines.items():
        assert np.abs(outline.vertices).max() <= 0.5, name
    for a, b in itertools.combinations(outlines, 2):
        same = outlines[a].vertices.shape == outlines[b].vertices.shape
        assert not (same and np.allclose(outlines[a].vertices, outlines[b].vertices)), (a, b)


def test_previous_points_left_and_next_points_right():
    assert role_outline("previous").vertices[:, 0].argmin() == 1  # the tip, second in the path
    left_tip = role_outline("previous").vertices[1]
    right_tip = role_outline("next").vertices[1]
    assert left_tip[0] < 0 < right_tip[0]
    assert left_tip[1] == right_tip[1] == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_css_has_every_color(scheme):
    declared = dict(part.split(":") for part in css_variables(scheme).split(";"))
    assert declared["--ink"] == getattr(palette().page["ink"], scheme)
    assert declared["--line-next"] == getattr(palette().roles["next"].line, scheme)
    assert len(declared) == len(palette().page) + 3 * len(palette().roles)


def test_no_two_drawn_colors_are_the_same():
    # The report maps a drawn color back to its name.
    roles = palette().roles.values()
    drawn = [color for role in roles for color in (role.line.light, role.fill.light)]
    drawn += [color.light for color in palette().page.values()]
    assert len(set(drawn)) == len(drawn)
