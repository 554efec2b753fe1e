"""The measures of distributions in a study: every decile of every measure."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="distribution", by=("measure", "decile")),))
