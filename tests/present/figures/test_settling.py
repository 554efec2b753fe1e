"""The last look at a figure: titles broken, numbers thinned, names apart, and what has no room left out."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from headscope.present.figures.label_places import boxes_of, crowded, labels_of, meeting, over
from headscope.present.figures.saving import svg_text
from headscope.present.figures.settling import settle
from headscope.present.figures.style import house_style, new_figure, on_paper


def drawn(figure):
    with house_style():
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    return figure


def panels(number, width, height, *, at=None):
    with on_paper(at), house_style():
        figure = new_figure(width, height)
        axes = list(figure.subplots(1, number, squeeze=False).ravel())
        for ax in axes:
            ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
        return figure, axes


def said(axes, *, starting=""):
    return [text.get_text() for text in axes.texts if (text.get_gid() or "").startswith(starting)]


def test_titles_side_by_side_are_broken_between_words():
    figure, (left, right) = panels(2, 4.0, 2.0)
    for ax in (left, right):
        ax.set_title("punctuation after a subordinate clause", loc="left")
    assert crowded(drawn(figure))
    settle(figure)
    assert not crowded(figure)
    lines = left.get_title(loc="left").split("\n")
    assert len(lines) > 1
    assert " ".join(lines) == "punctuation after a subordinate clause"


def test_a_word_that_is_longer_than_the_page_is_broken():
    figure, (ax,) = panels(1, 3.0, 3.0)
    ax.set_title("w" * 60, loc="left")
    settle(figure)
    assert not crowded(figure)
    assert ax.get_title(loc="left").replace("\n", "") == "w" * 60


def test_numbers_of_an_axis_are_thinned_evenly_and_names_all_stay():
    figure, (numbers, names) = panels(2, 4.0, 2.0)
    numbers.set_xticks(range(0, 2400, 100), [str(100 * place) for place in range(24)])
    names.set_xticks(range(6), ["nsubj", "amod", "advcl", "det", "obj", "obl"])
    settle(figure)
    kept = [int(label.get_text()) for label in numbers.get_xticklabels()]
    assert kept == list(range(0, 2400, kept[1]))
    assert kept[1] > 100
    assert not meeting(numbers.get_xticklabels())
    assert len(names.get_xticklabels()) == 6


def test_names_in_a_column_are_pushed_apart_in_their_order():
    figure, (ax,) = panels(1, 3.0, 3.0)
    for place, name in enumerate(("low", "middle", "high")):
        ax.text(1.02, 0.5 + 0.01 * place, name, transform=ax.transAxes, gid=f"name--{name}")
    settle(figure)
    assert not crowded(figure)
    assert sorted(ax.texts, key=lambda text: text.get_position()[1]) == list(ax.texts)


def test_of_names_that_collide_the_first_stays_and_the_other_goes_with_its_line():
    figure, (ax,) = panels(1, 3.0, 3.0)
    for name, place in (("3-2 obj", 0.5), ("3-4 det", 0.51)):
        ax.text(0.5, place, name, gid=f"finder--{name}")
        ax.plot([0.4, 0.5], [0.4, place], gid=f"lead--{name}")
    settle(figure)
    assert said(ax) == ["3-2 obj"]
    assert [line.get_gid() for line in ax.lines] == ["lead--3-2 obj"]


def test_a_role_s_name_is_never_left_out_for_a_head_s():
    figure, (ax,) = panels(1, 3.0, 3.0)
    ax.text(0.5, 0.5, "3-2 obj", gid="finder--3-2 obj")
    ax.text(0.5, 0.5, "broad", gid="name--broad")
    ax.text(0.1, 0.1, "7", gid="mark--7-1")
    settle(figure)
    assert said(ax) == ["broad", "7"]


def test_numbers_of_cells_go_together():
    figure, (ax,) = panels(1, 3.0, 3.0)
    for place in range(9):
        ax.text(place / 40, 0.5, "100", gid="cell")
    settle(figure)
    assert said(ax) == []


def test_a_figure_with_room_is_left_as_it_is():
    figures = [panels(1, 4.0, 3.0) for _ in range(2)]
    for _, (ax,) in figures:
        ax.set_title("Entropy", loc="left")
        ax.text(0.5, 0.5, "3-2 obj", gid="finder--3-2 obj")
    settle(figures[0][0])
    left, settled = (labels_of(drawn(figure)) for figure, _ in reversed(figures))
    assert [text.get_text() for text in left] == [text.get_text() for text in settled]
    assert boxes_of(left) == pytest.approx(boxes_of(settled))


@pytest.mark.parametrize(("width", "sizes"), [(None, {4.0, 10.0, 30.0}), (3.3, {7.0, 8.0, 9.0})])
def test_on_paper_text_has_seven_to_nine_points(width, sizes):
    figure, (ax,) = panels(1, 4.0, 3.0, at=width)
    for place, size in enumerate((4, None, 30)):
        with on_paper(width), house_style():
            ax.text(0.1, 0.1 + 0.3 * place, "a", fontsize=size)
    with on_paper(width):
        settle(figure)
    assert {float(text.get_fontsize()) for text in labels_of(figure)} == sizes


def test_what_was_looked_at_is_what_is_written():
    figure, (left, right) = panels(2, 4.0, 2.0)
    for ax in (left, right):
        ax.set_title("punctuation after a subordinate clause", loc="left")
    settle(figure)
    places = [ax.get_position().bounds for ax in (left, right)]
    svg_text(figure)
    assert [ax.get_position().bounds for ax in (left, right)] == places


def test_boxes_that_touch_do_not_meet():
    figure, (ax,) = panels(1, 3.0, 3.0)
    ax.text(0.5, 0.5, "a")
    (box,) = boxes_of([drawn(figure).axes[0].texts[0]])
    beside = np.add(box, [box[2] - box[0], 0, box[2] - box[0], 0])
    assert list(over(box, np.stack([box, beside, beside - [1, 0, 1, 0]]))) == [True, False, True]
