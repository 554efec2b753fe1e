"""The measures of gradient importance in a study: each measure by class of key."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="importance", by=("measure", "key_class")),))
