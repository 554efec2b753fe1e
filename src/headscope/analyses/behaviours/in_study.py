"""What a study knows of behaviours: each is a column, and `norm` before it where it is of what is written."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.statistics.measures import NORM, WEIGHT

STUDY = StudyParts(
    heads=(
        HeadMeasures(
            table="behaviours",
            by=("behaviour",),
            where={"model": "trained", "measure": WEIGHT},
            first="behaviour",
            verdict="shows",
        ),
        HeadMeasures(
            table="behaviours",
            by=("behaviour",),
            where={"model": "trained", "measure": NORM},
            first="norm behaviour",
        ),
    )
)
