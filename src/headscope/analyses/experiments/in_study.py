"""What a study knows of experiments: each behaviour in each is a column."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(
    heads=(
        HeadMeasures(
            table="experiments",
            by=("experiment", "behaviour"),
            where={"model": "trained"},
            verdict="shows",
        ),
    )
)
