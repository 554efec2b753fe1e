"""Figure 1: a line for each weight, from query to key, its opacity the weight."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from headscope.present.figures import example_panel, line_diagram
from headscope.present.figures.line_diagram import FAINTEST, best_window, draw_lines, weights_of
from support import mock_inputs


def read_back(ax, shape):
    """The weights that an axes shows, from its lines."""
    (lines,) = [c for c in ax.collections if c.get_gid() == "attention"]
    shown = np.zeros(shape)
    for segment, color in zip(lines.get_segments(), lines.get_colors()):
        (x0, query), (x1, key) = segment
        assert (x0, x1) == (0.0, 1.0)
        shown[int(query), int(key)] = color[3]
    return shown


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_opacity_is_the_weight():
    weights = np.array([[0.7, 0.3, 0.0], [0.005, 0.995, 0.0], [0.2, 0.3, 0.5]])
    ax = Figure().subplots()
    note = draw_lines(ax, ["a", "b", "c"], ["x", "y", "z"], weights)
    expected = np.where(weights >= FAINTEST, weights, 0)
    assert read_back(ax, (3, 3)) == pytest.approx(expected)
    assert texts(ax) == ["a", "b", "c", "x", "y", "z"]
    assert note == "strongest line 100%"


def test_queries_stand_left_and_keys_right():
    ax = Figure().subplots()
    draw_lines(ax, ["query"], ["key"], np.array([[1.0]]))
    left, right = ax.texts
    assert (left.get_text(), left.get_ha()) == ("query", "right")
    assert (right.get_text(), right.get_ha()) == ("key", "left")
    assert left.get_position()[0] < right.get_position()[0]


def test_figure_has_a_panel_for_each_example_and_none_for_the_shared_sentence():
    inputs = mock_inputs.encoder()
    examples = inputs.examples[inputs.examples["behavior"] != "shared"]
    figure = line_diagram(inputs.examples)
    titled = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert len(titled) == len(examples)
    for ax, (_, row) in zip(titled, examples.iterrows()):
        assert ax.get_title(loc="left").startswith(f"Head {row['layer']}-{row['head']} · ")
        weights = weights_of(row)
        expected = np.where(weights >= FAINTEST, np.minimum(weights, 1), 0)
        assert read_back(ax, weights.shape) == pytest.approx(expected)


def test_titles_take_the_models_own_names():
    row = mock_inputs.encoder().examples.query("behavior == 'cls'").iloc[0]
    (ax,) = example_panel(row, labels={"cls": "<s>"}, prefix=f"{row['kind']} ").axes
    assert ax.get_title(loc="left") == f"Encoder head {row['layer']}-{row['head']} · <s>"


def test_cross_attention_has_other_keys_than_queries():
    row = mock_inputs.t5().examples.query("kind == 'cross'").iloc[0]
    (ax,) = example_panel(row).axes
    assert texts(ax)[: len(row["tokens"])] == list(row["tokens"])
    assert texts(ax)[len(row["tokens"]) : -1] == list(row["keys"])


def test_a_long_example_shows_the_window_that_keeps_most():
    weights = np.full((40, 40), 0.001)
    weights[30:36, 30:36] = 0.15
    window = best_window(weights, most=8)
    assert (window.queries, window.keys) == (slice(28, 36), slice(28, 36))
    total = weights[28:36].sum()
    assert window.inside == pytest.approx(weights[28:36, 28:36].sum() / total)


def test_the_note_says_which_part_is_drawn():
    ax = Figure().subplots()
    note = draw_lines(ax, [str(i) for i in range(30)], [str(i) for i in range(30)], np.eye(30), most=10)
    assert note == "strongest line 100% · tokens 1–10 of 30, 100% of their attention"
    assert texts(ax)[:10] == [str(i) for i in range(10)]


def test_weights_that_do_not_fit_are_refused():
    row = pd.Series({"tokens": ["a", "b"], "keys": ["a", "b"], "weights": [0.5, 0.5, 1.0]})
    with pytest.raises(ValueError, match=r"^Expected 2 x 2 weights for 2 queries and 2 keys, got 3; write the weights"):
        weights_of(row)


def test_no_example_is_refused():
    inputs = mock_inputs.encoder(1, 1)
    shared = inputs.examples[inputs.examples["behavior"] == "shared"]
    with pytest.raises(ValueError, match=r"^Expected at least one example of a behavior, got none"):
        line_diagram(shared)


def test_hostile_tokens_are_drawn_as_short_visible_text():
    row = mock_inputs.hostile().examples.iloc[0]
    (ax,) = example_panel(row).axes
    shown = texts(ax)
    assert "</script><script…" in shown
    assert "⟨U+200B⟩" in shown
    assert "$\\frac{1}{2}$" in shown
    assert not any(text.get_parse_math() for text in ax.texts[:-1])
