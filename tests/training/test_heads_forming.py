"""Figures of heads forming: each panel draws the values in the checkpoints' tables."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from headscope.analyses.stats.tables import STATS
from headscope.analyses.syntax.tables import SYNTAX_BEST
from headscope.present.figures.saving import svg_text
from headscope.present.figures.style import role_color
from headscope_train.heads_forming import (
    accuracy_course,
    behavior_courses,
    course_panel,
    heads_forming,
    relation_courses,
)
from support.stand_ins import stand_in


def best(accuracy, *, head=2, q=0.001, kind="encoder"):
    """Return `syntax_best` of one checkpoint, with additional rows that must be ignored."""
    row = {
        "model": "trained", "selection": "held-out", "relation": "obj", "n_arcs": 500, "kind": kind, "layer": 3,
        "head": head, "direction": "dependent->head", "accuracy": accuracy, "ci_low": accuracy - 0.02,
        "ci_high": accuracy + 0.03, "baseline_offset": -2, "baseline_accuracy": 0.36, "margin": accuracy - 0.36,
        "q_value": q,
    }  # fmt: skip
    others = [
        {**row, "selection": "same-data", "accuracy": 0.99},
        {**row, "model": "control", "accuracy": 0.98},
        {**row, "relation": "det", "accuracy": 0.5, "baseline_offset": 1},
    ]
    return stand_in(SYNTAX_BEST, *others, row)


def stats(values, *, uniform=0.05):
    """Return `stats` of one checkpoint: heads 1-1, 1-2 ..., and the layer's mean, which is not a head."""
    rows = [
        {"kind": "encoder", "layer": 1, "head": head, "statistic": "previous", "value": value,
         "ci_low": value - 0.01, "ci_high": value + 0.01, "uniform": uniform, "n_inputs": 40}
        for head, value in enumerate(values, 1)
    ]  # fmt: skip
    mean = {**rows[0], "head": None, "value": 0.999}
    return stand_in(STATS, *rows, mean)


STEPS = {200: best(0.61), 0: best(0.31, head=7, q=0.9), 100: best(0.40, head=1, q=0.2)}


def test_a_relation_through_the_checkpoints():
    (course,) = relation_courses(STEPS, relations=["obj", "nowhere"])
    assert course.title == "obj"
    assert course.points["step"].tolist() == [0, 100, 200]
    assert course.points["value"].tolist() == [0.31, 0.40, 0.61]
    assert course.points["ci_low"].tolist() == pytest.approx([0.29, 0.38, 0.59])
    assert course.points["ci_high"].tolist() == pytest.approx([0.34, 0.43, 0.64])
    assert course.points["head"].tolist() == ["3-7", "3-1", "3-2"]
    # At 100 it is above the offset, but its q-value is not significant.
    assert course.points["sure"].tolist() == [False, False, True]
    assert (course.rule, course.rule_name) == (0.36, "offset −2")
    assert [each.title for each in relation_courses(STEPS)] == ["det", "obj"]


def test_without_enough_documents_the_same_data_stands_in():
    few = {step: table[table["selection"] == "same-data"] for step, table in STEPS.items()}
    (course,) = relation_courses(few, relations=["obj"])
    assert course.points["value"].tolist() == [0.99, 0.99, 0.99]


def test_heads_of_several_kinds_are_named_with_them():
    both = {0: best(0.3), 1: best(0.4, kind="decoder")}
    (course,) = relation_courses(both, relations=["obj"])
    assert course.points["head"].tolist() == ["encoder 3-2", "decoder 3-2"]


def test_the_highest_head_of_a_statistic():
    (course,) = behavior_courses({50: stats([0.2, 0.9]), 0: stats([0.06, 0.05])}, statistics=["previous", "sep"])
    assert course.title == "to the previous token"
    assert course.points["step"].tolist() == [0, 50]
    assert course.points["value"].tolist() == [0.06, 0.9]
    assert course.points["head"].tolist() == ["1-1", "1-2"]
    assert course.points["sure"].tolist() == [False, True]  # 0.05 is not above 0.05
    assert (course.rule, course.rule_name) == (0.05, "uniform")


def test_the_masked_accuracy_comes_from_the_log():
    log = pd.DataFrame(
        {
            "step": [5, 0, 0, 5],
            "split": ["held-out"] * 3 + ["train"],
            "measure": ["accuracy", "accuracy", "loss", "accuracy"],
            "value": [0.4, 0.1, 6.0, 0.9],
            "ci_low": [0.3, 0.0, 5.0, np.nan],
            "ci_high": [0.5, 0.2, 7.0, np.nan],
        }
    )
    course = accuracy_course(log)
    assert course.points["value"].tolist() == [0.1, 0.4]
    assert course.points["head"].tolist() == ["", ""]
    assert np.isnan(course.rule)


def test_a_panel_draws_its_course():
    (course,) = relation_courses(STEPS, relations=["obj"])
    (ax,) = course_panel(course).axes
    lines = {line.get_gid(): line for line in ax.lines}
    assert lines["value"].get_xydata().tolist() == [[0, 0.31], [100, 0.40], [200, 0.61]]
    assert lines["sure"].get_xydata().tolist() == [[200, 0.61]]
    assert lines["unsure"].get_xydata().tolist() == [[0, 0.31], [100, 0.40]]
    assert to_hex(lines["unsure"].get_markerfacecolor()) == "#ffffff"
    assert lines["sure"].get_markerfacecolor() == role_color("syntax")
    assert set(lines["rule"].get_ydata()) == {0.36}
    (band,) = [one for one in ax.collections if one.get_gid() == "interval"]
    corners = {tuple(np.round(corner, 6)) for corner in band.get_paths()[0].vertices}
    assert {(0, 0.29), (100, 0.38), (200, 0.59), (0, 0.34), (100, 0.43), (200, 0.64)} <= corners
    assert [text.get_text() for text in ax.texts] == ["offset −2", "3-2"]


def test_without_intervals_there_is_no_band():
    tables = {step: table.assign(ci_low=np.nan, ci_high=np.nan) for step, table in STEPS.items()}
    (ax,) = course_panel(relation_courses(tables, relations=["obj"])[0]).axes
    assert not [one for one in ax.collections if one.get_gid() == "interval"]


def test_panels_share_their_axes():
    courses = [*relation_courses(STEPS), *behavior_courses({0: stats([0.1]), 400: stats([0.9])})]
    figure = heads_forming([*courses, *courses])
    drawn = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in drawn] == ["det", "obj", "to the previous token"] * 2
    assert {ax.get_xlim() for ax in drawn} == {(-8.0, 408.0)}
    assert {ax.get_ylim() for ax in drawn} == {(0.0, 1.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns if it fails to lay out a figure
        assert "training step" in svg_text(figure)


def test_the_line_is_named_where_the_curve_is_not():
    (course,) = relation_courses(STEPS, relations=["obj"])
    assert course.points["value"].iloc[-1] == 0.61
    for rule, side, edge in ((0.36, "right", "top"), (0.5, "left", "bottom"), (0.05, "right", "bottom")):
        (ax,) = course_panel(replace(course, rule=rule)).axes
        name = ax.texts[0]
        assert (name.get_text(), name.get_ha(), name.get_va()) == ("offset −2", side, edge)


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match=r"^Expected at least one course of a number through training, got none;"):
        heads_forming([])
