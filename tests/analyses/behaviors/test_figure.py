"""The grids of heads by behaviors against the table: strength, edge, link and name of every cell."""

import re

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from headscope.analyses.behaviors.catalog import NATURAL
from headscope.analyses.behaviors.chosen import heads_of
from headscope.analyses.behaviors.facts import PARTS
from headscope.analyses.behaviors.grids import behavior_grids
from headscope.analyses.experiments.facts import PARTS as EXPERIMENTS
from headscope.present.figures.style import PAGE_INCHES, WIDTHS, on_paper
from headscope.reporting.payload import data_block
from headscope.statistics.tables.frames import is_true
from support import mock_inputs
from support.measured import about, only
from support.mock_behaviors import with_behaviors


@pytest.fixture(scope="module")
def run():
    return with_behaviors(mock_inputs.t5())


def cells_of(figures):
    """The collection of cells of each behavior, by its name in the page."""
    found = {}
    for figure in figures:
        for ax in figure.axes:
            for one in ax.collections:
                if isinstance(one, PolyCollection) and one.get_gid():
                    found[one.get_gid().split("--")[2]] = one
    return found


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_each_cell_is_a_head(run, kind):
    table = run.tables.get("behaviors")
    cells = cells_of(draw() for draw in behavior_grids(table, about(run).kind(kind), prefix="behaviors"))
    own = heads_of(table, kind)
    assert set(cells) == {f"behaviors.{name}" for name in own["behavior"] if name != "distance"}
    assert ("behaviors.induction" in cells) == (kind == "encoder")
    assert "behaviors.distance" not in cells
    assert "behaviors.blank" not in cells  # it cannot occur
    for name, one in cells.items():
        rows = own["behaviors." + own["behavior"] == name]
        assert len(one.get_paths()) == len(rows)
        np.testing.assert_allclose(one.get_facecolor()[:, 3], rows["value"])
        assert one.get_urls() == [f"#{kind}-{row.layer}-{row.head}" for row in rows.itertuples()]
        middles = [path.vertices[:4].mean(0).tolist() for path in one.get_paths()]
        np.testing.assert_allclose(middles, rows[["head", "layer"]].to_numpy(float))
        np.testing.assert_array_equal(np.array(one.get_linewidths()) > 0, is_true(rows["shows"]))
        assert is_true(rows["shows"]).sum() == 1
        dotted = [pattern is not None for _, pattern in one.get_linestyles()]
        assert sum(dotted) == (name == "behaviors.first")  # of which the head that shows it writes little
        assert not any(dotted) or dotted.index(True) == is_true(rows["shows"]).argmax()


def test_what_cannot_occur_has_no_grid(run):
    table = run.tables.get("behaviors")
    assert behavior_grids(table[table["behavior"] == "induction"], about(run).kind("cross"), prefix="x") == []


def test_what_does_not_fit_on_a_page_goes_on():
    run = with_behaviors(mock_inputs.section_4(12, 12))
    with on_paper(WIDTHS["one"]):
        figures = [draw() for draw in PARTS.figures[0].drawings(about(run)).values()]
    assert len(figures) > 1
    assert all(figure.get_figheight() <= PAGE_INCHES for figure in figures)
    assert len(cells_of(figures)) == len(NATURAL) - 2


def test_the_page_knows_every_cell_by_its_head_and_measure(run):
    shown = about(run)
    measures = {one["name"]: one["values"] for one in data_block(shown.run)["measures"]}
    for parts in (PARTS, EXPERIMENTS):
        page = str(only(parts.sections(about(run, found=parts.findings(shown)))))
        names = re.findall(r'id="[^"]*heads--(\w+)--([\w.]+)--\w+"', page)
        assert names
        for kind, name in names:
            assert any(value is not None for value in measures[name][kind]), name
        assert page.count("data-head=") == sum(len(measures[name][kind]) for kind, name in names)
