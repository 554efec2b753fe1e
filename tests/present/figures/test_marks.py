"""No mark of a figure is smaller on the page than a reader can see and hit."""

import pytest
from matplotlib.collections import PathCollection

from headscope.analyses.for_report import drawings_of
from headscope.present.drawing import LEAST_PIXELS
from support import mock_inputs
from support.measured import about
from support.mock_whole import whole

LEAST_MARK_PIXELS = 5.0
# Text of ten points is never smaller than that on the page, and the figure with it.
PIXELS_PER_POINT = LEAST_PIXELS / 10
UNTESTED = "figure-explanation"
"""Its row of marks below the bars has as much room as a head has."""


@pytest.mark.slow
def test_no_mark_is_below_five_pixels():
    small = set()
    for name, draw in drawings_of(about(whole(mock_inputs.section_4(6, 12)))).items():
        for axes in draw().axes if name != UNTESTED else ():
            small |= {(name, round(size, 1)) for size in sizes(axes) if size < LEAST_MARK_PIXELS}
    assert not small


def sizes(axes):
    """Yield the larger side of each mark of an axes in pixels; bars of an interval or a curve are not marks."""
    for drawn in axes.collections:
        if isinstance(drawn, PathCollection) and len(drawn.get_offsets()):
            for path in drawn.get_paths():
                side = max(path.get_extents().width, path.get_extents().height)
                yield from (side * size**0.5 * PIXELS_PER_POINT for size in drawn.get_sizes())
    for line in axes.lines:
        if line.get_marker() not in ("", "None", None, " "):
            yield line.get_markersize() * PIXELS_PER_POINT
