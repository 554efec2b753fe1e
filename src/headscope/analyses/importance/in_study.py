"""What a study knows of gradient importance: each measure by class of key."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="importance", by=("measure", "key_class")),))
