"""The last look at a finished figure: no label over another, by the extents that matplotlib itself draws."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from headscope.figures.paper import LEAST_POINTS, MOST_POINTS, paper_width
from headscope.figures.style import house_style

_SLACK = 1.0
"""Points that two boxes may share: a line's box is higher than its letters."""
_EDGE = 3.0
_NUMBER = re.compile(r"[\d.,%>–−-]+")
_FEWEST_LETTERS = 8


def settle(figure: Figure) -> None:
    """Bring a figure's labels apart, before it is written.

    Titles and names of axes are broken into lines, numbers of an axis thinned, names at the ends of curves pushed
    apart. Where that is not enough, names of single heads are left out, the least of them first, and the numbers
    of a map's cells all together. On paper text has 7 to 9 points.
    """
    with house_style():
        FigureCanvasAgg(figure)
        if paper_width() is not None:
            for text in figure.findobj(Text):
                assert isinstance(text, Text)
                text.set_fontsize(min(max(float(text.get_fontsize()), LEAST_POINTS), MOST_POINTS))
            for axes in figure.axes:
                for axis in (axes.xaxis, axes.yaxis):  # ticks that are not made yet
                    size = axis.get_tick_params().get("labelsize")
                    if isinstance(size, int | float):
                        axis.set_tick_params(labelsize=min(max(float(size), LEAST_POINTS), MOST_POINTS))
        figure.draw_without_rendering()
        if paper_width() is None:
            labels = labels_of(figure)
            if not meeting(labels) and not any(_leaves(figure, one) for one in labels):
                _stay(figure)
                return
        _break_lines(figure)
        figure.draw_without_rendering()
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
                _thin(axis)
        figure.draw_without_rendering()
        for axes in figure.axes:
            _spread(axes)
        _drop(figure)
        _stay(figure)


def _stay(figure: Figure) -> None:
    """Lay nothing out again: what was looked at is what is written, in every form, and each is drawn once."""
    figure.set_layout_engine(None)


def labels_of(figure: Figure) -> list[Text]:
    """Return the texts that are drawn: those of a figure, its axes, their ticks and their keys."""
    found: list[Text] = list(figure.texts)
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        found += [one for one in axes.get_children() if isinstance(one, Text)]
        key = axes.get_legend()
        found += key.get_texts() if key is not None else []
        if axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                found += [axis.get_label(), *_tick_labels(axis)]
    return [one for one in found if one.get_visible() and one.get_text().strip()]


def meeting(labels: Sequence[Text]) -> list[tuple[Text, Text]]:
    """Return the pairs of labels that lie over one another, as they were drawn last."""
    boxes = [_inner(one) for one in labels]
    return [
        (labels[first], labels[second])
        for first in range(len(labels))
        for second in range(first + 1, len(labels))
        if _meet(boxes[first], boxes[second])
    ]


def _leaves(figure: Figure, text: Text) -> bool:
    """Whether a label is cut by the figure's edge."""
    box, page = _inner(text), figure.bbox
    return bool(box.x0 < page.x0 or box.y0 < page.y0 or box.x1 > page.x1 or box.y1 > page.y1)


def _inner(text: Text) -> Bbox:
    """Return a label's box in pixels, less the slack that it may share."""
    figure = text.get_figure(root=True)
    assert figure is not None
    box, slack = text.get_window_extent(), _SLACK * figure.dpi / 72
    return Bbox.from_extents(box.x0, box.y0 + slack / 2, box.x1, box.y1 - slack / 2)


def _meet(one: Bbox, other: Bbox) -> bool:
    return bool(one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)


def _tick_labels(axis: Axis) -> list[Text]:
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    ticks = zip(axis.get_majorticklocs(), axis.get_major_ticks())
    return [
        tick.label1
        for place, tick in ticks
        if low - slack <= place <= high + slack and tick.label1.get_visible()
    ]


def _break_lines(figure: Figure) -> None:
    """Break what is wider than its place: titles and names of axes within their column, the figure's own within it."""
    edge = _EDGE * figure.dpi / 72
    page = figure.bbox
    for text in figure.texts:
        _fold(text, page.width - 2 * edge, page.height - 2 * edge)
    for axes in figure.axes:
        box = axes.get_window_extent()
        right = [
            other.get_window_extent().x0
            for other in figure.axes
            if other.get_window_extent().x0 > box.x0 + 1
            and other.get_window_extent().y0 < box.y1
            and box.y0 < other.get_window_extent().y1
        ]
        end = min([page.x1, *right]) - 2 * edge
        for one in axes.get_children():
            if isinstance(one, Text) and one not in axes.texts:  # its titles
                _fold(one, end - box.x0, page.height)
        if axes.axison:
            _fold(
                axes.xaxis.label,
                min(2 * (end - (box.x0 + box.x1) / 2), (box.x0 + box.x1) - 2 * edge),
                page.height,
            )
            _fold(axes.yaxis.label, page.width, box.height * 1.05)


def _fold(text: Text, width: float, height: float) -> None:
    """Break a text into lines until it is no longer than its place, along the way it is written."""
    said = " ".join(text.get_text().split())
    if not said:
        return
    along, room = (1, height) if text.get_rotation() else (0, width)

    def length() -> float:
        return float(text.get_window_extent().size[along])

    for within_words in (False, True):  # a word is broken only where nothing else helps
        letters = len(said)
        while length() > room and letters > _FEWEST_LETTERS:
            letters = min(letters - 1, max(int(letters * room / length()) + 2, _FEWEST_LETTERS))
            text.set_text(fill(said, letters, break_long_words=within_words, break_on_hyphens=False))


def _thin(axis: Axis) -> None:
    """Keep every second number of an axis, and again, until no two lie over one another; names all stay."""
    labels = _tick_labels(axis)
    if not all(_NUMBER.fullmatch(one.get_text()) for one in labels if one.get_text()):
        return
    low, high = sorted(axis.get_view_interval())
    places = [float(place) for place in axis.get_majorticklocs() if low - 1e-9 <= place <= high + 1e-9]
    said = [one.get_text() for one in labels]
    step = 1
    while len(labels[::step]) > 2 and meeting(labels[::step]):
        step += 1
    if step > 1:
        axis.set_ticks(places[::step], said[::step])


def _spread(axes: Axes) -> None:
    """Push apart names that stand in one column, such as those at the ends of curves, each as little as may be."""
    columns: dict[float, list[Text]] = {}
    for one in axes.texts:
        if _is(one, "name--"):
            columns.setdefault(round(float(one.get_position()[0]), 6), []).append(one)
    figure = axes.get_figure(root=True)
    assert figure is not None
    for column in columns.values():
        last = -float("inf")
        ordered = sorted(column, key=lambda one: one.get_window_extent().y0)
        moves: list[float] = []
        for one in ordered:
            box = one.get_window_extent()
            moves.append(max(last - box.y0, 0.0))
            last = box.y1 + moves[-1]
        over = max(last - figure.bbox.y1, last - axes.get_window_extent().y1 - 4, 0.0) if any(moves) else 0.0
        for one, move in zip(ordered, moves):
            x, y = one.get_transform().transform(one.get_position())
            x, y = one.get_transform().inverted().transform((x, y + move - over))
            one.set_position((float(x), float(y)))


def _drop(figure: Figure) -> None:
    """Leave out what still lies over something else: names of single heads, and numbers of a map's cells."""
    for axes in figure.axes:
        cells = [one for one in axes.texts if _is(one, "cell")]
        if meeting(cells):
            for one in cells:
                one.remove()
    optional = [one for axes in figure.axes for one in axes.texts if _optional(one)]
    kept = [one for one in labels_of(figure) if one not in optional]
    boxes = [_inner(one) for one in kept]
    for one in sorted(optional, key=_rank):
        box = _inner(one)
        if any(_meet(box, other) for other in boxes):
            one.remove()
        else:
            boxes.append(box)


def _optional(text: Text) -> bool:
    return isinstance(text, Annotation) or any(_is(text, name) for name in ("mark--", "finder--"))


def _rank(text: Text) -> tuple[bool, float]:
    """What stays first: names before the numbers in marks, and of those the one that lies on top."""
    return (_is(text, "mark--"), -float(text.get_zorder()) if _is(text, "mark--") else 0.0)


def _is(text: Text, name: str) -> bool:
    return str(text.get_gid() or "").startswith(name)
