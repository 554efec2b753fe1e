"""Figure 5: which lines are drawn strong, what marks a wrong choice, and what is refused."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from headscope.analyses.for_report import arc_examples
from headscope.present.figures import arc_diagram, arc_panel
from headscope.present.figures.arc_diagram import arc_pages
from headscope.present.figures.arc_strokes import FAINT, FAINTEST, Stroke, arcs_of
from headscope.present.figures.style import SOFT, role_color
from support import mock_inputs


def example(**changes):
    """Four tokens: `dog` should attend to `barks`; it gives the separator a little."""
    weights = [[0.1, 0.1, 0.1, 0.7], [0.0, 0.1, 0.6, 0.3], [0.05, 0.25, 0.1, 0.6], [0.01, 0.01, 0.01, 0.97]]
    row = {
        "kind": "encoder", "layer": 3, "head": 1, "direction": "dependent->head", "relation": "nsubj",
        "outcome": "right", "value": 0.6, "document": "d", "segment": 0, "tokens": ["[CLS]", "dog", "barks", "[SEP]"],
        "weights": list(np.ravel(weights)), "queries": [1], "keys": [2], "predicted": [2],
    }  # fmt: skip
    return pd.Series(row | changes)


def drawn(ax, gid):
    (lines,) = [one for one in ax.collections if one.get_gid() == gid]
    return [
        (int(start[1]), int(end[1]), tuple(color))
        for (start, end), color in zip(lines.get_segments(), lines.get_colors())
    ]


def test_lines_from_the_colored_word_are_strong_and_all_others_faint():
    arcs = arcs_of(example())
    assert arcs.strokes()[-3:] == [
        Stroke(1, 1, 0.1, True, False), Stroke(1, 3, 0.3, True, True), Stroke(1, 2, 0.6, True, False)
    ]  # fmt: skip
    assert {one.query for one in arcs.strokes() if one.strong} == {1}
    # The separator's 0.01 to others would not be seen, and faint lines less so.
    assert not [one for one in arcs.strokes() if one.query == 3 and one.key < 3]


def test_where_those_who_attend_are_compared_lines_to_the_dependent_are_strong():
    arcs = arcs_of(example(direction="head->dependent", queries=[2], keys=[1], predicted=[2]))
    assert {(one.query, one.key) for one in arcs.strokes() if one.strong} == {(0, 1), (1, 1), (2, 1)}
    assert arcs.mistaken == ()


def test_opacity_is_the_weight_and_the_color_is_the_relations():
    (ax,) = arc_panel(example()).axes
    lines = {(query, key): color for query, key, color in drawn(ax, "attention")}
    assert lines[1, 2] == pytest.approx((*to_rgb(role_color("syntax")), 0.6))
    assert lines[0, 3] == pytest.approx((*to_rgb(SOFT), 0.7 * FAINT))
    assert (1, 0) not in lines
    (ax,) = arc_panel(example(relation="coreference")).axes
    lines = {(query, key): color for query, key, color in drawn(ax, "attention")}
    assert lines[1, 2][:3] == pytest.approx(to_rgb(role_color("coreference")))


def test_colored_words_are_the_arcs_ends():
    (ax,) = arc_panel(example()).axes
    bold = [(text.get_text(), text.get_ha()) for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == [("dog", "right"), ("barks", "left")]


def test_a_wrong_choice_has_a_cross_and_the_right_one_is_dashed():
    (ax,) = arc_panel(example(outcome="wrong", predicted=[3])).axes
    assert [text.get_text() for text in ax.texts if "✗" in text.get_text()] == ["[SEP] ✗"]
    assert [line[:2] for line in drawn(ax, "missed")] == [(1, 2)]
    (ax,) = arc_panel(example(outcome="wrong", direction="head->dependent", queries=[2], keys=[1], predicted=[0])).axes
    assert [text.get_text() for text in ax.texts if "✗" in text.get_text()] == ["✗ [CLS]"]
    assert [line[:2] for line in drawn(ax, "missed")] == [(2, 1)]


def test_a_right_choice_has_neither():
    (ax,) = arc_panel(example()).axes
    assert drawn(ax, "missed") == []
    assert not [text for text in ax.texts if "✗" in text.get_text()]


def test_another_right_antecedent_is_no_mistake():
    """A mention may have several; the gold arc names one of them."""
    assert arcs_of(example(relation="coreference", predicted=[0])).chosen == (None,)
    assert arcs_of(example(relation="coreference", outcome="wrong", predicted=[0])).chosen == (0,)


def test_where_nothing_could_be_chosen_only_the_right_one_is_shown():
    (ax,) = arc_panel(example(outcome="wrong", predicted=[-1])).axes
    assert [line[:2] for line in drawn(ax, "missed")] == [(1, 2)]
    assert not [text for text in ax.texts if "✗" in text.get_text()]


def test_special_tokens_can_be_hidden_with_their_lines():
    (ax,) = arc_panel(example(), hide_special=True).axes
    assert {(query, key) for query, key, _ in drawn(ax, "attention")} == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert [text.get_text() for text in ax.texts] == ["dog", "barks", "dog", "barks"]


def test_special_tokens_go_by_the_models_names_and_only_at_the_ends():
    row = example(tokens=["<s>", "[SEP]", "barks", "</s>"])
    assert arcs_of(row, special=("<s>", "</s>")).special == {0, 3}
    assert arcs_of(row).special == frozenset()


def test_a_long_example_shows_the_part_with_its_arcs():
    size = 60
    row = example(
        tokens=[str(place) for place in range(size)], weights=np.eye(size).ravel().tolist(),
        queries=[50, 45, 2, 44], keys=[48, 41, 1, 43], predicted=[48, 40, 1, 3], outcome="wrong",
    )  # fmt: skip
    arcs = arcs_of(row, most=20)
    assert (arcs.first, arcs.total, len(arcs.tokens)) == (31, 60, 20)
    assert [(arcs.tokens[query], arcs.tokens[key]) for query, key in arcs.arcs] == [
        ("50", "48"), ("45", "41"), ("44", "43")
    ]  # fmt: skip
    assert arcs.chosen == (None, 9, -1)
    assert arcs.tokens[9] == "40"
    (ax,) = arc_panel(row, most=20).axes
    assert ax.texts[-1].get_text() == "words 32–51 of 60"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="Expected 4 x 4 weights for 4 tokens, got 2; write the weights row by row"):
        arcs_of(example(weights=[1.0, 0.0]))
    with pytest.raises(ValueError, match="longer"):
        arcs_of(example(keys=[2, 3]))


def test_the_figure_has_a_row_a_relation_the_right_ones_first():
    examples = arc_examples(mock_inputs.section_4(2, 3))
    examples = examples[examples["relation"].isin(["obj", "mark"])].iloc[::-1]
    figure = arc_diagram(examples, titles={"obj": "Head 1-1 · obj, direct object"})
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    mark = examples[examples["relation"] == "mark"].iloc[0]
    assert titles == [
        f"Head {mark['layer']}-{mark['head']} · mark", "another, right", "a wrong one",
        "Head 1-1 · obj, direct object", "another, right", "a wrong one",
    ]  # fmt: skip
    # Words stand at one height in a row.
    heights = {ax.get_ylim() for ax in figure.axes[:3]}
    assert len(heights) == 1


def test_a_page_is_as_wide_as_two_columns_and_fits_on_paper():
    examples = arc_examples(mock_inputs.section_4())
    pages = arc_pages(examples, most=24)
    assert len(pages) > 1
    assert list(pd.concat(pages).index) == list(examples.index)
    for page in pages:
        width, height = arc_diagram(page, most=24).get_size_inches()
        assert width <= 6.9 + 1e-6
        assert height <= 9.2 + 1e-6


def test_no_title_lies_over_another():
    examples = arc_examples(mock_inputs.section_4(2, 3))
    examples = examples[examples["relation"].isin(["obj", "mark"])]
    long = "Head 12-11 · case, a preposition or case marker, which belongs to a noun"
    figure = arc_diagram(examples, titles={"obj": long, "mark": long})
    FigureCanvasAgg(figure).draw()
    for line in (figure.axes[:3], figure.axes[3:6]):
        boxes = [ax.title.get_window_extent() if ax.get_title() else ax._left_title.get_window_extent() for ax in line]
        for one, after in pairwise(boxes):
            assert one.x1 < after.x0
    # Nor over the panel above it.
    above = [text.get_window_extent().y0 for ax in figure.axes[:3] for text in ax.texts]
    assert figure.axes[3]._left_title.get_window_extent().y1 < min(above)


def test_no_example_is_refused():
    with pytest.raises(
        ValueError, match=r"^Expected at least one example of a relation, got none; run with a treebank or coref"
    ):
        arc_diagram(arc_examples(mock_inputs.section_4(1, 1)).iloc[:0])


def test_hostile_words_are_drawn_as_short_text():
    (ax,) = arc_panel(example(tokens=["[CLS]", "$x^2$", "<script>alert(1)</script>", "[SEP]"])).axes
    shown = [text.get_text() for text in ax.texts]
    assert "$x^2$" in shown
    assert "<script>alert…" in shown
    assert not any(text.get_parse_math() for text in ax.texts)


def test_the_smallest_line_drawn_can_be_seen():
    for row in arc_examples(mock_inputs.section_4(1, 1)).iloc[:4].to_dict("records"):
        for one in arcs_of(pd.Series(row)).strokes():
            assert one.weight * (1 if one.strong else FAINT) >= FAINTEST
