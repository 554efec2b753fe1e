"""What a study knows of surface statistics: each is a column, and `norm` before it where it is of what is written."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.statistics.measures import NORM, WEIGHT

STUDY = StudyParts(
    heads=(
        HeadMeasures(table="surface", by=("statistic",), where={"measure": WEIGHT}),
        HeadMeasures(table="surface", by=("statistic",), where={"measure": NORM}, first="norm"),
    )
)
