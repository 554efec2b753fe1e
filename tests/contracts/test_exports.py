"""Every export works on the run of every command, which has the tables of some stages only."""

import pytest

from headscope.analyses.for_report import every_part
from headscope.app.run_arguments import stages_measured
from headscope.errors import OptionError
from headscope.present.figures.style import WIDTHS
from headscope.reporting.export import SCREEN, export, export_figures
from headscope.scans.declarations.analysis_list import ANALYSES, OF_STAGE
from support import mock_inputs
from support.measured import study_in_memory
from support.mock_study import write_study
from support.mock_whole import whole

WITH_A_COMMAND = [analysis for analysis in ANALYSES if analysis.command is not None]
COMPARED = {"figure-measures-compared"}  # this figure combines several analyses
FIGURES = [figure for parts in every_part() for figure in parts.figures]


@pytest.fixture(scope="module")
def run_of():
    """Return a function that makes up a run, in memory, of an analysis's command."""
    every = whole(mock_inputs.section_4(2, 3))

    def run(analysis):
        names = {table.name for stage in stages_measured(analysis) for table in OF_STAGE[stage.name].tables(stage)}
        tables = {name: table for name, table in every.tables.items() if name in names}
        assert tables, f"there is no made-up run of {analysis.name}"
        return study_in_memory(every.manifest, tables)

    return run


@pytest.fixture(params=WITH_A_COMMAND, ids=lambda analysis: analysis.name)
def study(request, run_of, tmp_path):
    return write_study(run_of(request.param), tmp_path / "run", top_examples=False)


def test_a_run_of_every_command_is_exported(study, tmp_path):
    papers = {table.name for table in study.paper_tables()}
    names = {form: {path.stem for path in export(study, tmp_path / form, form=form)} for form in ("csv", "xlsx")}
    assert names == {"csv": {*study.tables, *papers}, "xlsx": {"headscope"}}
    if papers:
        assert {path.stem for path in export(study, tmp_path / "latex", form="latex")} == papers
    else:
        with pytest.raises(OptionError, match="fills no table for a paper"):
            export(study, tmp_path / "latex", form="latex")


def test_a_command_fills_the_tables_for_a_paper_of_its_analysis(run_of):
    lacking = [
        name
        for analysis in WITH_A_COMMAND
        for name in sorted({*analysis.paper} - {table.name for table in run_of(analysis).paper_tables()})
    ]
    assert lacking == []


@pytest.mark.slow
@pytest.mark.parametrize("columns", [*WIDTHS, SCREEN])
def test_the_figures_of_a_run_of_every_command_are_exported(study, columns, tmp_path):
    written = {path.stem for path in export_figures(study, tmp_path, columns=columns)}
    of_tables = {figure.name for figure in FIGURES if {*figure.tables} and {*figure.tables} <= {*study.tables}}
    assert {name for name in of_tables - COMPARED if not any(stem.startswith(name) for stem in written)} == set()
