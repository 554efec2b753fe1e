"""What holds for every figure that an analysis declares, at every width: its labels can be read."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from headscope.analyses import ANALYSES
from headscope.analyses.for_report import every_part
from headscope.figures.paper import PAGE_INCHES, WIDTHS, on_paper
from headscope.figures.settling import settle
from headscope.figures.style import house_style
from headscope.reporting.kit.report_parts import Context
from support import mock_inputs
from support.mock_distances import with_distances
from support.mock_importance import with_importance
from support.mock_probes import with_probes

DECLARED = {name for analysis in ANALYSES for name in analysis.figures}
POINT = 1.0
"""Two boxes may share so many points: a line's box is higher than its letters."""


def whole(inputs):
    return with_distances(with_probes(with_importance(inputs)))


RUNS = {
    "encoder": lambda: whole(mock_inputs.section_4()),
    "deep": lambda: whole(mock_inputs.section_4(12, 12)),
    "two kinds": lambda: with_distances(mock_inputs.two_kinds()),
    "three kinds": lambda: with_importance(mock_inputs.t5()),
    "hostile": lambda: with_distances(mock_inputs.hostile_section_4()),
}


@pytest.fixture(scope="module", params=RUNS)
def about(request):
    return Context.of(RUNS[request.param]())


def drawn_texts(figure):
    """Every text that leaves ink, by drawing the figure and listening: no list of kinds of text can forget one."""
    drawn = []
    draw = Text.draw

    def heard(text, renderer, *given, **more):
        if text.get_visible() and text.get_text().strip():
            drawn.append((text, text.get_window_extent(renderer)))
        return draw(text, renderer, *given, **more)

    with house_style(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", heard)
        FigureCanvasAgg(figure).draw()
    return drawn


def troubles(figure):
    """Pairs of texts that lie over one another, and texts that leave the figure."""
    slack = POINT * figure.dpi / 72
    boxes = [
        (text.get_text(), Bbox.from_extents(box.x0, box.y0 + slack / 2, box.x1, box.y1 - slack / 2))
        for text, box in drawn_texts(figure)
    ]
    over = [
        (one, other)
        for place, (one, a) in enumerate(boxes)
        for other, b in boxes[place + 1 :]
        if a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
    ]
    page = figure.bbox
    cut = [
        name
        for name, box in boxes
        if box.x0 < -slack or box.y0 < -slack or box.x1 > page.x1 + slack or box.y1 > page.y1 + slack
    ]
    return over, cut


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, *WIDTHS.values()])
def test_no_label_lies_over_another_or_leaves_the_figure(about, width):
    seen = {}
    with on_paper(width):
        for parts in every_part():
            for name, figure in parts.figures(about):
                settle(figure)
                over, cut = troubles(figure)
                assert name not in seen
                seen[name] = {"over": over, "cut": cut}
                if width is not None:
                    assert figure.get_figwidth() == width
                    assert figure.get_figheight() <= PAGE_INCHES, name
                    sizes = {float(text.get_fontsize()) for text, _ in drawn_texts(figure)}
                    assert min(sizes) >= 7, name
                    assert max(sizes) <= 9, name
    if about.run.table("probes") is not None:
        assert set(seen) >= DECLARED
    assert {name: told for name, told in seen.items() if told["over"] or told["cut"]} == {}
