"""The boxes of labels, and their placement next to marks, so that they cover neither marks nor each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from headscope.present.figures.style import cells

WIDTH, HEIGHT = 0.6, 1.15
"""The width of a character and the height of a line, relative to the font size, wide enough for every font used."""
_COVERED, _CLASH, _OUTSIDE, _FAR = 1.0, 50.0, 50.0, 0.6
_REACHES = (1.0, 2.5, 4.0)


@dataclass(frozen=True)
class Box:
    """A box on the page, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: Box) -> bool:
        """Return True if the two overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top

    def covers(self, marks: np.ndarray) -> bool:
        """Return True if the center of any of the marks lies within, `[mark, 2]` in points."""
        x, y = marks[:, 0], marks[:, 1]
        return bool(((x > self.left) & (x < self.right) & (y > self.bottom) & (y < self.top)).any())


@dataclass(frozen=True)
class LabelPlace:
    """The place of a label.

    Attributes:
        box: area that it covers.
        side: its side at the mark: `left`, `right` or, above and below the mark, `center`.
        lead: line from its mark to the label, if the two are far apart: (x, y, x, y) in points.
    """

    box: Box
    side: str
    lead: tuple[float, float, float, float] | None = None

    @property
    def anchor(self) -> tuple[float, float]:
        """Anchor point of the label: at its side, at half its height."""
        box = self.box
        across = {"left": box.left, "right": box.right}.get(self.side, (box.left + box.right) / 2)
        return across, (box.bottom + box.top) / 2


@dataclass(frozen=True)
class WantedLabel:
    """A label, its font size in points, and the marks that it may be placed at, best first, `[mark, 2]` in points."""

    text: str
    size: float
    anchors: np.ndarray


def place_labels(
    wanted: Sequence[WantedLabel], marks: np.ndarray, page: Box, *, reach: float = 5.0, drop: bool = False
) -> list[LabelPlace | None]:
    """Choose a place next to one of its marks for each label; earlier labels choose first.

    Args:
        wanted: the labels.
        marks: all marks, labeled or not, `[mark, 2]` in points.
        page: area that labels must not leave.
        reach: distance from a mark's center to its label, in points.
        drop: True to drop a label that would cover another or leave the page; otherwise it takes the least bad place.

    Returns:
        The place of each label; None for a dropped one.
    """
    taken: list[Box] = []
    chosen: list[LabelPlace | None] = []
    for name in wanted:
        best, cost = None, np.inf
        for order, candidate in enumerate(_candidates(name, reach)):
            bad = _cost(candidate.box, marks, taken, page) + _FAR * (candidate.lead is not None)
            if bad + 1e-3 * order < cost:
                best, cost = candidate, bad + 1e-3 * order
        if best is not None and drop and cost >= min(_CLASH, _OUTSIDE):
            best = None
        taken += [best.box] if best is not None else []
        chosen.append(best)
    return chosen


def extent(text: str, size: float) -> tuple[float, float]:
    """Return the approximate width and height of a line of text, in points."""
    return WIDTH * size * cells(text), HEIGHT * size


def _candidates(name: WantedLabel, reach: float) -> Iterator[LabelPlace]:
    """Yield eight places around each mark, near ones first, and for far ones the line from the mark."""
    wide, high = extent(name.text, name.size)
    for times in _REACHES:
        far, near = times * reach, 0.7 * times * reach
        for x, y in name.anchors.tolist():
            for side, left, bottom in (
                ("left", x + far, y - high / 2),
                ("right", x - far - wide, y - high / 2),
                ("center", x - wide / 2, y + far),
                ("center", x - wide / 2, y - far - high),
                ("left", x + near, y + near),
                ("left", x + near, y - near - high),
                ("right", x - near - wide, y + near),
                ("right", x - near - wide, y - near - high),
            ):
                box = Box(left, bottom, left + wide, bottom + high)
                end = (min(max(x, box.left), box.right), min(max(y, box.bottom), box.top))
                yield LabelPlace(box, side, None if times == 1.0 else (x, y, *end))


def _cost(box: Box, marks: np.ndarray, taken: Sequence[Box], page: Box) -> float:
    margin = 3.0
    x, y = marks[:, 0], marks[:, 1]
    covered = (x > box.left - margin) & (x < box.right + margin) & (y > box.bottom - margin) & (y < box.top + margin)
    inside = box.left >= page.left and box.right <= page.right and box.bottom >= page.bottom and box.top <= page.top
    clashes = sum(box.meets(other) for other in taken)
    return float(_COVERED * covered.sum() + _CLASH * clashes + _OUTSIDE * (not inside))


_SLACK = 1.0
"""Overlap in points that two boxes may have: a line's box is higher than its letters."""


def labels_of(figure: Figure) -> list[Text]:
    """Return the drawn texts of a figure, its axes, their ticks and their legends."""
    texts: list[Text] = list(figure.texts)
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        texts += [text for text in axes.get_children() if isinstance(text, Text)]
        key = axes.get_legend()
        texts += key.get_texts() if key is not None else []
        if axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                texts += [axis.get_label(), *tick_labels(axis)]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def tick_labels(axis: Axis) -> list[Text]:
    """Return the labels of the ticks that lie within an axis."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    ticks = zip(axis.get_majorticklocs(), axis.get_major_ticks())
    return [
        tick.label1 for location, tick in ticks if low - slack <= location <= high + slack and tick.label1.get_visible()
    ]


def boxes_of(labels: Sequence[Text]) -> NDArray[np.float64]:
    """Return each label's box in pixels, `[label, 4]` (left, bottom, right, top), reduced by the allowed overlap."""
    boxes = np.empty((len(labels), 4))
    for index, label in enumerate(labels):
        figure = label.get_figure(root=True)
        assert figure is not None
        slack = _SLACK * figure.dpi / 144
        boxes[index] = np.add(label.get_window_extent().extents, (0.0, slack, 0.0, -slack))
    return boxes


def over(box: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the `boxes` that overlap a box, or each of a column of boxes."""
    left, bottom, right, top = np.moveaxis(box, -1, 0)
    return np.asarray((left < boxes[:, 2]) & (boxes[:, 0] < right) & (bottom < boxes[:, 3]) & (boxes[:, 1] < top))


def meeting(labels: Sequence[Text]) -> bool:
    """Return True if any two labels overlap, as they were last drawn."""
    boxes = boxes_of(labels)
    return bool(np.triu(over(boxes[:, None], boxes), 1).any())


def crowded(figure: Figure) -> bool:
    """Return True if a drawn figure's labels overlap or are cut by its edge."""
    labels = labels_of(figure)
    boxes, page = boxes_of(labels), figure.bbox
    cut = (boxes[:, :2] < page.p0).any() or (boxes[:, 2:] > page.p1).any()
    return bool(cut) or meeting(labels)
