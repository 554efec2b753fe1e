"""What a study knows of surface statistics: each is a column."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="surface", by=("statistic",)),))
