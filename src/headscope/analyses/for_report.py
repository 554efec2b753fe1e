"""What the analyses add to the report and the atlas, gathered over their list."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headscope.declarations.analysis_list import ANALYSES
from headscope.report_kit.measured import Measured
from headscope.report_kit.report_parts import Parts
from headscope.report_kit.showings import Showing
from headscope.report_kit.targets import Target


def every_part() -> Iterator[Parts]:
    """Yield what each analysis adds, in the order of the report."""
    for analysis in ANALYSES:
        parts: Parts = analysis.load(analysis.report)
        yield parts


def targets_of(run: Measured) -> list[Target]:
    """Return what was looked for in a run, in the order of the report."""
    return [target for parts in every_part() for target in parts.targets(run)]


def showings_of(run: Measured) -> list[Showing]:
    """Return what heads were seen doing in a run, in the order of the report."""
    return [showing for parts in every_part() for showing in parts.showings(run)]


def arc_examples(run: Measured) -> pd.DataFrame | None:
    """Return sentences with a head's weights and gold arcs, right and wrong, or None where the run kept none.

    `role` is the color of what is found; the other columns are those of the tables that are put together.
    """
    tables = [
        table.assign(role=parts.role)
        for parts in every_part()
        if parts.arcs and (table := run.table(parts.arcs)) is not None
    ]
    return pd.concat(tables, ignore_index=True) if tables else None
