"""Sections link each file of a figure that lies beside the page, and no other, whatever kinds have numbers."""

import re

import pytest

from headscope.analyses.norms.facts import PARTS as NORMS
from headscope.declarations.analysis_list import ANALYSES
from support import mock_inputs
from support.measured import about, blank_figures, with_parts
from support.mock_behaviors import with_behaviors
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_importance import with_importance
from support.mock_norms import with_norms
from support.mock_pca import with_pca

pytestmark = pytest.mark.slow

MEASURED = {
    "norms": with_norms,
    "distribution": with_distribution,
    "pca": with_pca,
    "behaviors": with_behaviors,
    "importance": with_importance,
    "distances": with_distances,
}


def lacking(run, kinds):
    """Take these kinds of attention out of all that was measured beside the stats."""
    tables = {
        name: table[~table["kind"].isin(kinds)]
        for name, table in run.tables.items()
        if name not in ("stats", "roles", "examples") and "kind" in table.columns
    }
    return with_parts(run, **tables)


def linked_and_written(run, name):
    """The files that an analysis's sections link, and those that it writes."""
    (analysis,) = (each for each in ANALYSES if each.name == name)
    parts = analysis.load(analysis.report)
    with_links = about(run, links=True)
    with blank_figures():
        page = "".join(one.html for one in parts.sections(with_links))
    linked = re.findall(r'href="figures/([^"]+).svg"', page)
    return sorted(set(linked)), sorted(file for figure in parts.figures for file in figure.drawings(with_links))


@pytest.mark.parametrize("without", [(), ("encoder",), ("encoder", "cross")], ids="-".join)
@pytest.mark.parametrize("name", MEASURED)
def test_every_figure_is_linked_and_every_link_has_a_figure(name, without):
    linked, written = linked_and_written(lacking(MEASURED[name](mock_inputs.t5()), without), name)
    assert linked == written


def test_experiments_link_the_grids_of_the_kinds_that_they_are_done_with():
    for without in ((), ("encoder",)):
        run = lacking(with_behaviors(mock_inputs.t5()), without)
        linked, written = linked_and_written(run, "experiments")
        assert linked == written
        assert written


def test_a_kind_of_which_every_number_is_missing_has_no_link():
    linked, written = linked_and_written(with_norms(mock_inputs.t5(), absent=("encoder",)), "norms")
    assert linked == written == ["figure-norms-cross", "figure-norms-decoder"]


def test_each_kind_links_its_own_file_of_a_figure():
    for run, files in (
        (mock_inputs.t5(), ["figure-norms", "figure-norms-decoder", "figure-norms-cross"]),
        (mock_inputs.encoder(2, 2), ["figure-norms"]),
    ):
        (section,) = NORMS.sections(about(with_norms(run), links=True))
        links = re.findall(r'<p class="files">This figure: <a href="figures/([^"]*)\.svg">SVG</a></p>', section.html)
        assert links == files
