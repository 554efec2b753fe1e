"""The files of figures for a paper: one for each kind of attention that has numbers, and no other."""

import pytest

from headscope.scans.declarations.analysis_list import ANALYSES
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_behaviors import with_behaviors
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_norms import with_norms
from support.mock_pca import with_pca

MEASURED = {
    "norms": (with_norms, ["figure-norms"]),
    "distribution": (with_distribution, ["figure-distribution"]),
    "pca": (with_pca, ["figure-pca"]),
    "behaviors": (with_behaviors, ["behaviors"]),
    "distances": (with_distances, ["figure-6", "head-tree"]),
}
ENDINGS = {"encoder": "", "decoder": "-decoder", "cross": "-cross"}


def lacking(run, kinds):
    """Take these kinds of attention out of all that was measured beside the stats."""
    tables = {
        name: table[~table["kind"].isin(kinds)]
        for name, table in run.tables.items()
        if name not in ("stats", "roles", "examples") and "kind" in table.columns
    }
    return with_parts(run, **tables)


def files(run, name):
    """The files that the figures of an analysis fill."""
    (analysis,) = (each for each in ANALYSES if each.name == name)
    return sorted(file for figure in analysis.load(analysis.report).figures for file in figure.drawings(about(run)))


@pytest.mark.parametrize("without", [(), ("encoder",), ("encoder", "cross")], ids="-".join)
@pytest.mark.parametrize("name", MEASURED)
def test_each_kind_with_numbers_has_its_file(name, without):
    measured, stems = MEASURED[name]
    endings = [ending for kind, ending in ENDINGS.items() if kind not in without]
    found = files(lacking(measured(mock_inputs.t5()), without), name)
    assert found == sorted(stem + ending for stem in stems for ending in endings)


def test_grids_of_experiments_are_of_the_kinds_that_they_are_done_with():
    found = files(lacking(with_behaviors(mock_inputs.t5()), ("encoder",)), "experiments")
    assert found == ["behaviors-needle-decoder", "behaviors-repeated-decoder"]


def test_a_kind_of_which_every_number_is_missing_has_no_file():
    found = files(with_norms(mock_inputs.t5(), absent=("encoder",)), "norms")
    assert found == ["figure-norms-cross", "figure-norms-decoder"]
