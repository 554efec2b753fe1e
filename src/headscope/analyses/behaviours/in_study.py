"""What a study knows of behaviours: each is a column."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(
    heads=(
        HeadMeasures(table="behaviours", by=("behaviour",), where={"model": "trained"}, first="behaviour"),
    )
)
