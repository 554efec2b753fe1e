"""Columns of `study.heads`: each norm, by class of token where it has one."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="norms", by=("statistic", "key_class")),))
