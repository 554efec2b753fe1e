"""The paper's tables of a study, found by walking the list of analyses."""

import pandas as pd

from headscope.declarations.analysis import Analysis
from headscope.declarations.analysis_list import ANALYSES
from headscope.declarations.option import options_of
from headscope.declarations.run_options import RunOptions
from headscope.report_kit.measured import Measured
from headscope.report_kit.tables.paper_table import PaperTable
from headscope.study.study_tables import StudyTables, Tabled


def paper_table(study: Tabled, number: int) -> PaperTable:
    """Return one of the paper's tables, of a study's numbers.

    Raises:
        KeyError: the study did not measure it, or the paper's analyses make no such table; says what would.
    """
    makers = {which: analysis for analysis in ANALYSES for which in analysis.paper}
    if number not in makers:
        known = ", ".join(str(which) for which in sorted(makers))
        raise KeyError(f"no table {number} of the paper; it has {known}")
    analysis = makers[number]
    table: PaperTable | None = analysis.load(analysis.paper[number])(_measured(study))
    if table is None:
        needs = " and ".join(_needs(analysis))
        raise KeyError(
            f"this study has no table {number} ({analysis.question[:1].lower()}{analysis.question[1:]}); "
            f"run headscope report with {needs}"
        )
    return table


def paper_tables(study: Tabled) -> list[PaperTable]:
    """Return those of the paper's tables that a study measured, in order."""
    run = _measured(study)
    tables = [
        (which, analysis.load(where)(run)) for analysis in ANALYSES for which, where in analysis.paper.items()
    ]
    return [table for _, table in sorted(tables, key=lambda pair: pair[0]) if table is not None]


def _measured(study: Tabled) -> Measured:
    """A run's tables alone: no table of the paper is of roles."""
    return Measured(
        manifest=study.manifest,
        tables=StudyTables(study),
        roles=pd.DataFrame(),
        paper=None,
        is_bert_base=False,
    )


def _needs(analysis: Analysis) -> list[str]:
    """Return the options that give the corpora of an analysis's first stage."""
    options = options_of(RunOptions).values()
    return [each.flag for corpus in analysis.stages[0].corpora for each in options if corpus in each.holds]
