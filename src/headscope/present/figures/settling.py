"""Final layout of a finished figure, so that labels neither overlap nor are cut."""

from __future__ import annotations

import re
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from headscope.present.figures.label_places import boxes_of, crowded, labels_of, meeting, over, tick_labels
from headscope.present.figures.style import LEAST_POINTS, MOST_POINTS, house_style, paper_width

_EDGE = 3.0
_NUMBER = re.compile(r"[\d.,%>–−-]+")
_FEWEST_LETTERS = 8


@house_style()
def settle(figure: Figure) -> None:
    """Separate a figure's labels before it is saved, and fix its layout, so that it is saved as it was checked.

    Titles and axis labels are broken into lines, axis numbers thinned, and names at the ends of curves separated. If
    that is not enough, names of single heads are removed, the least important first, and the numbers in the cells of a
    map all together. On paper, text has 7 to 9 points.
    """
    FigureCanvasAgg(figure)
    if paper_width() is not None:
        _legible(figure)
    figure.draw_without_rendering()
    if paper_width() is not None or crowded(figure):
        # Drawing again, which includes the layout, takes most of the time: only after a change.
        if _break_lines(figure) | _thin(figure):
            figure.draw_without_rendering()
            if _thin(figure):
                figure.draw_without_rendering()
        for axes in figure.axes:
            _spread(axes)
        _drop(figure)
    # Even with a layout engine that does nothing, each format would be drawn twice, the first time for the layout.
    figure.set_layout_engine(None)


def _legible(figure: Figure) -> None:
    """Set every text to a paper's font sizes, including ticks that do not exist yet."""
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_fontsize(min(max(float(text.get_fontsize()), LEAST_POINTS), MOST_POINTS))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            size = axis.get_tick_params().get("labelsize")
            if isinstance(size, int | float):
                axis.set_tick_params(labelsize=min(max(float(size), LEAST_POINTS), MOST_POINTS))


def _break_lines(figure: Figure) -> bool:
    """Break text that is wider than its place: titles and axis labels within their column, figure texts within it.

    Returns:
        True if any text was broken.
    """
    broken = False
    edge = _EDGE * figure.dpi / 72
    page = figure.bbox
    for text in figure.texts:
        broken |= _fold(text, page.width - 2 * edge, page.height - 2 * edge)
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
        for child in axes.get_children():
            if isinstance(child, Text) and child not in axes.texts:  # its titles
                broken |= _fold(child, end - box.x0, page.height)
        if axes.axison:
            broken |= _fold(
                axes.xaxis.label, min(2 * (end - (box.x0 + box.x1) / 2), (box.x0 + box.x1) - 2 * edge), page.height
            )
            broken |= _fold(axes.yaxis.label, page.width, box.height * 1.05)
    return broken


def _fold(text: Text, width: float, height: float) -> bool:
    """Break a text into lines until it fits its place along the direction of writing; return True if it changed."""
    before = text.get_text()
    said = " ".join(before.split())
    if not said:
        return False
    along, room = (1, height) if text.get_rotation() else (0, width)

    def length() -> float:
        return float(text.get_window_extent().size[along])

    for within_words in (False, True):  # words are broken only as a last resort
        letters = len(said)
        while length() > room and letters > _FEWEST_LETTERS:
            letters = min(letters - 1, max(int(letters * room / length()) + 2, _FEWEST_LETTERS))
            text.set_text(fill(said, letters, break_long_words=within_words, break_on_hyphens=False))
    return text.get_text() != before


def _thin(figure: Figure) -> bool:
    """Keep every second number of an axis, or fewer, until none overlap; names all stay.

    Returns:
        True if any number was removed.
    """
    shown = [axes for axes in figure.axes if axes.axison]
    return sum(_thin_axis(axis) for axes in shown for axis in (axes.xaxis, axes.yaxis)) > 0


def _thin_axis(axis: Axis) -> bool:
    labels = tick_labels(axis)
    if not all(_NUMBER.fullmatch(label.get_text()) for label in labels if label.get_text()):
        return False
    low, high = sorted(axis.get_view_interval())
    locations = [float(location) for location in axis.get_majorticklocs() if low - 1e-9 <= location <= high + 1e-9]
    said = [label.get_text() for label in labels]
    step = 1
    while len(labels[::step]) > 2 and meeting(labels[::step]):
        step += 1
    if step > 1:
        axis.set_ticks(locations[::step], said[::step])
    return step > 1


def _spread(axes: Axes) -> None:
    """Separate names in one column, such as those at the ends of curves, each by the smallest distance."""
    columns: dict[float, list[Text]] = {}
    for name in axes.texts:
        if _is(name, "name--"):
            columns.setdefault(round(float(name.get_position()[0]), 6), []).append(name)
    figure = axes.get_figure(root=True)
    assert figure is not None
    for column in columns.values():
        last = -float("inf")
        ordered = sorted(column, key=lambda name: name.get_window_extent().y0)
        moves: list[float] = []
        for name in ordered:
            box = name.get_window_extent()
            moves.append(max(last - box.y0, 0.0))
            last = box.y1 + moves[-1]
        over = max(last - figure.bbox.y1, last - axes.get_window_extent().y1 - 4, 0.0) if any(moves) else 0.0
        for name, move in zip(ordered, moves):
            x, y = name.get_transform().transform(name.get_position())
            x, y = name.get_transform().inverted().transform((x, y + move - over))
            name.set_position((float(x), float(y)))


def _drop(figure: Figure) -> None:
    """Remove names of single heads and numbers in cells that still overlap something else."""
    for axes in figure.axes:
        cells = [label for label in axes.texts if _is(label, "cell")]
        if meeting(cells):
            for label in cells:
                label.remove()
    optional = [label for axes in figure.axes for label in axes.texts if _optional(label)]
    boxes = boxes_of([label for label in labels_of(figure) if label not in optional])
    for label in sorted(optional, key=_rank):
        box = boxes_of([label])
        if over(box[0], boxes).any():
            _leave_out(label)
        else:
            boxes = np.concatenate([boxes, box])


def _leave_out(name: Text) -> None:
    """Remove a name, and the line to it from its mark."""
    axes, lead = name.axes, str(name.get_gid() or "").replace("finder--", "lead--")
    for line in list(axes.lines) if axes is not None and lead.startswith("lead--") else ():
        if line.get_gid() == lead:
            line.remove()
    name.remove()


def _optional(text: Text) -> bool:
    return isinstance(text, Annotation) or any(_is(text, name) for name in ("mark--", "finder--"))


def _rank(text: Text) -> tuple[bool, float]:
    """Return the sort key of labels to keep: names before numbers in marks, and the topmost numbers first."""
    return (_is(text, "mark--"), -float(text.get_zorder()) if _is(text, "mark--") else 0.0)


def _is(text: Text, name: str) -> bool:
    return str(text.get_gid() or "").startswith(name)
