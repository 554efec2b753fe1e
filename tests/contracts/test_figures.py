"""Contracts of every figure that an analysis declares, at every width: its labels are readable."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from headscope.analyses.for_report import every_part
from headscope.present.figures.settling import settle
from headscope.present.figures.style import PAGE_INCHES, STYLES, house_style, on_paper
from headscope.present.report_parts import Context
from support import mock_inputs
from support.mock_behaviors import with_behaviors
from support.mock_distances import with_distances
from support.mock_effects import with_effects
from support.mock_importance import with_importance
from support.mock_norms import with_norms
from support.mock_whole import whole

DECLARED = {figure.name for parts in every_part() for figure in parts.figures}
POINT = 1.0
"""Two boxes may share so many points: a line's box is higher than its letters."""


RUNS = {
    "encoder": lambda: whole(mock_inputs.section_4(4, 8)),
    "deep": lambda: whole(mock_inputs.section_4(12, 12)),
    "two kinds": lambda: with_distances(mock_inputs.two_kinds()),
    "three kinds": lambda: with_norms(with_behaviors(with_effects(with_importance(mock_inputs.t5())))),
    "hostile": lambda: with_distances(mock_inputs.hostile_section_4()),
}
CASES = [
    ("encoder", "plain", None), ("encoder", "plain", "one"), ("encoder", "plain", "two"), ("deep", "plain", "one"),
    ("two kinds", "plain", "one"), ("three kinds", "plain", "two"), ("hostile", "plain", "one"),
    ("encoder", "acl", "one"), ("deep", "neurips", "one"),
]  # fmt: skip
"""Runs, page templates and widths: every width, and for each kind of run the width with the least room."""


@cache
def about(run):
    return Context.of(RUNS[run]())


def written_figures(about):
    """Yield every file of every figure, drawn; names must be unique and equal those of the declarations."""
    for parts in every_part():
        for figure in parts.figures:
            for name, draw in figure.drawings(about).items():
                yield name, draw()


def drawn_texts(figure):
    """Return every visible text of a figure, recorded while drawing, so that no kind of text is missed."""
    drawn = []
    draw = Text.draw

    def heard(text, renderer, *given, **more):
        if text.get_visible() and text.get_text().strip():
            drawn.append((text, text.get_window_extent(renderer)))
        return draw(text, renderer, *given, **more)

    with house_style(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", heard)
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    return drawn


def troubles(figure, drawn):
    """Return pairs of overlapping texts, and texts that leave the figure."""
    slack = POINT * figure.dpi / 72
    names = [text.get_text() for text, _ in drawn]
    left, bottom, right, top = np.array([box.extents for _, box in drawn]).T
    inner = bottom + slack / 2, top - slack / 2
    over = (left[:, None] < right) & (inner[0][:, None] < inner[1])
    page = figure.bbox
    cut = (left < -slack) | (bottom < -1.5 * slack) | (right > page.x1 + slack) | (top > page.y1 + 1.5 * slack)
    pairs = np.argwhere(np.triu(over & over.T, 1))
    return [(names[a], names[b]) for a, b in pairs], [names[place] for place in np.flatnonzero(cut)]


@pytest.mark.slow
@pytest.mark.parametrize(("run", "style", "columns"), CASES)
def test_no_label_lies_over_another_or_leaves_the_figure(run, style, columns):
    shown, width = about(run), STYLES[style].widths.get(columns)
    seen = {}
    with on_paper(width, font=STYLES[style].font):
        for name, figure in written_figures(shown):
            settle(figure)
            drawn = drawn_texts(figure)
            over, cut = troubles(figure, drawn)
            assert name not in seen
            seen[name] = {"over": over, "cut": cut}
            if width is not None:
                assert figure.get_figwidth() == width
                assert figure.get_figheight() <= PAGE_INCHES, name
                sizes = {float(text.get_fontsize()) for text, _ in drawn}
                assert min(sizes) >= 7, name
                assert max(sizes) <= 9, name
    if shown.run.tables.get("probes") is not None:
        assert set(seen) >= DECLARED
    assert {name: told for name, told in seen.items() if told["over"] or told["cut"]} == {}


def test_every_figure_is_named_where_the_export_is_described():
    text = Path(__file__).parents[2].joinpath("docs", "command-line.md").read_text("utf-8")
    section = text.split("## `headscope export`")[1].split("\n## ")[0]
    assert "`figure-1` to `figure-6`" in " ".join(section.split())
    assert [name for name in DECLARED if not name.startswith("figure-") and f"`{name}`" not in section] == []
