"""Columns of `study.heads`: each behavior in each experiment, and each norm-weighted one."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.statistics.measures import NORM, WEIGHT

STUDY = StudyParts(
    heads=(
        HeadMeasures(
            table="experiments",
            by=("experiment", "behavior"),
            where={"model": "trained", "measure": WEIGHT},
            verdict="shows",
        ),
        HeadMeasures(
            table="experiments",
            by=("experiment", "behavior"),
            where={"model": "trained", "measure": NORM},
            suffix=NORM,
        ),
    )
)
