"""What a study knows of reach: a column of `study.heads`."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="reach"),))
