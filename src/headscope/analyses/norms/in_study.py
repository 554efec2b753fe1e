"""What a study knows of what heads write: each length, by class of token where it is of one."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="norms", by=("statistic", "key_class")),))
