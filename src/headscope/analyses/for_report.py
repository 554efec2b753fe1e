"""The parts of the report and the atlas that analyses contribute, collected over the list of analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.present.head_columns import groups_of, rows_of
from headscope.present.head_functions import FunctionScores
from headscope.present.report_parts import Context, Drawing, Parts
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.scans.declarations.analysis import Analysis
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.head_measures import NORM_WEIGHTED, HeadMeasures, MeasureLabel
from headscope.visible import capital


def every_part() -> Iterator[Parts]:
    """Yield the report parts of each analysis, in the order of the report."""
    for analysis in ANALYSES:
        parts: Parts = analysis.load(analysis.report)
        yield parts


def drawings_of(about: Context) -> dict[str, Drawing]:
    """Return the drawing function of each figure's file, by file name, in the order of the report."""
    figures = [figure for parts in every_part() for figure in parts.figures]
    return {file: draw for figure in figures for file, draw in figure.drawings(about).items()}


@once_a_study
def functions_of(run: Study) -> list[FunctionScores]:
    """Return the scores of all functions of a run's heads: relations, then behaviors, in the order of the report."""
    scores = [of_function for parts in every_part() for of_function in parts.functions(run)]
    return sorted(scores, key=lambda of_function: not of_function.function.is_relation)


@dataclass(frozen=True, kw_only=True)
class HeadMeasure:
    """A number for every head, by which the grid can be colored and the scatter plot laid out.

    Attributes:
        name: name of its column in `study.heads`.
        label: name in the list of measures, capitalized.
        topic: heading of its group in the list.
        unit: unit of the number, in words; `share` is displayed in percent.
        values: kind -> `[head]`, layer by layer; NaN where it cannot occur.
    """

    name: str
    label: str
    topic: str
    unit: str
    values: Mapping[str, NDArray[np.float64]]


def measures_of(about: Context) -> list[HeadMeasure]:
    """Return the head measures of a run that the page lists; those for which heads were tested come first."""
    declared = [(analysis, measures) for analysis in ANALYSES for measures in analysis.head_measures if measures.labels]
    declared.sort(key=lambda pair: not pair[1].verdict)
    return [measure for analysis, measures in declared for measure in _listed(analysis, measures, about)]


def _listed(analysis: Analysis, measures: HeadMeasures, about: Context) -> Iterator[HeadMeasure]:
    """Yield the measures that have a label and a value for at least one head."""
    rows = rows_of(measures, about.run.tables.get)
    if rows is None:
        return
    groups, (column,) = groups_of(measures, rows), measures.values
    labels: Mapping[tuple[object, ...], MeasureLabel] = analysis.load(measures.labels)
    for names, label in labels.items():
        if names not in groups or not label.comparable(rows):
            continue
        values = {kind.name: kind.in_head_order(groups[names], column) for kind in about.kinds}
        if any(np.isfinite(of_kind).any() for of_kind in values.values()):
            yield HeadMeasure(
                name=measures.column_name(analysis.name, names),
                label=_written(label, about, norm_weighted=measures.suffix == NORM_WEIGHTED),
                topic=measures.topic,
                unit=label.unit,
                values=values,
            )


def _written(label: MeasureLabel, about: Context, *, norm_weighted: bool) -> str:
    name, description = capital(about.words.fill(label.label)), about.words.fill(label.description)
    if norm_weighted:
        return f"{name}, norm-weighted"
    return f"{name}: {description}" if description else name


def arc_examples(run: Study) -> pd.DataFrame | None:
    """Return sentences with a head's weights and gold arcs, right and wrong, or None where the run kept none.

    `role` is the color of the relation; the other columns are those of the concatenated tables.
    """
    tables = [
        table.assign(role=parts.role)
        for parts in every_part()
        if parts.arcs and (table := run.tables.get(parts.arcs)) is not None
    ]
    return pd.concat(tables, ignore_index=True) if tables else None


def behavior_examples(run: Study) -> pd.DataFrame | None:
    """Return the sentences on which heads show a behavior, or None where the run kept none; see `Parts`."""
    tables = [table for parts in every_part() if (table := parts.behavior_examples(run)) is not None]
    return pd.concat(tables, ignore_index=True) if tables else None
