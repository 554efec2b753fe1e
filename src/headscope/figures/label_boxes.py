"""The boxes of a drawn figure's labels, from matplotlib's own extents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

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
