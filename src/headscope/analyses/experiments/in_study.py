"""What a study knows of experiments: each behavior in each is a column, `norm` before it by what is written."""

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
            first="norm",
        ),
    )
)
