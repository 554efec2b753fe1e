"""What a study knows of behaviors: each is a column, and `norm` before it where it is of what is written."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.statistics.measures import NORM, WEIGHT

STUDY = StudyParts(
    heads=(
        HeadMeasures(
            table="behaviors",
            by=("behavior",),
            where={"model": "trained", "measure": WEIGHT},
            first="behavior",
            verdict="shows",
        ),
        HeadMeasures(
            table="behaviors",
            by=("behavior",),
            where={"model": "trained", "measure": NORM},
            first="norm behavior",
        ),
    )
)
