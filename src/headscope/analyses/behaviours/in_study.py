"""What a study knows of behaviours: each is a column, and `norm` before it where it is of what is written."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.statistics.measures import NORM, WEIGHT

STUDY = StudyParts(
    heads=tuple(
        HeadMeasures(
            table="behaviours", by=("behaviour",), where={"model": "trained", "measure": measure}, first=first
        )
        for measure, first in ((WEIGHT, "behaviour"), (NORM, "norm behaviour"))
    )
)
