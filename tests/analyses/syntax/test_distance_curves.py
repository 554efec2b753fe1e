"""Accuracy by distance: what is plotted is what the table holds."""

import numpy as np
import pytest

from headscope.analyses.syntax.figures import distance_curves, distance_panel
from support import mock_inputs


@pytest.fixture(scope="module")
def by_distance():
    return mock_inputs.section_4(2, 3).table("syntax_by_distance")


def test_the_line_is_the_heads_and_the_bars_the_offsets(by_distance):
    rows = by_distance[by_distance["relation"] == "obj"]
    (ax,) = distance_panel(rows.sample(frac=1, random_state=1)).axes
    known = rows[rows["n_arcs"] > 0]
    (line,) = [one for one in ax.lines if one.get_gid() == "head"]
    assert line.get_ydata() == pytest.approx(known["accuracy"].to_numpy())
    assert list(line.get_xdata()) == list(range(len(known)))
    (intervals,) = [one for one in ax.collections if one.get_gid() == "interval"]
    ends = np.array([segment[:, 1] for segment in intervals.get_segments()])
    assert ends == pytest.approx(known[["ci_low", "ci_high"]].to_numpy())
    (bars,) = [one for one in ax.collections if one.get_gid() == "offset"]
    heights = [segment[1, 1] for segment in bars.get_segments()]
    assert heights == pytest.approx(known["baseline_accuracy"][known["baseline_accuracy"] > 0].to_numpy())
    assert [text.get_text() for text in ax.texts] == ["offset −2"]
    assert ax.get_title(loc="left") == f"obj · head {rows.iloc[0]['layer']}-{rows.iloc[0]['head']}"


def test_without_intervals_there_are_no_bars_of_them(by_distance):
    rows = by_distance[by_distance["relation"] == "obj"].assign(ci_low=np.nan, ci_high=np.nan)
    (ax,) = distance_panel(rows).axes
    assert not [one for one in ax.collections if one.get_gid() == "interval"]


def test_distances_without_a_case_are_left_out(by_distance):
    rows = by_distance[by_distance["relation"] == "obj"].copy()
    rows.loc[rows["distance"] == "3", ["n_arcs", "accuracy"]] = [0, np.nan]
    (ax,) = distance_panel(rows).axes
    (line,) = [one for one in ax.lines if one.get_gid() == "head"]
    assert 2 not in list(line.get_xdata())


def test_a_panel_a_relation_in_the_order_asked(by_distance):
    figure = distance_curves(by_distance, relations=["det", "obj"])
    titles = [ax.get_title(loc="left").split(" ")[0] for ax in figure.axes if ax.get_title(loc="left")]
    assert titles == ["det", "obj"]
