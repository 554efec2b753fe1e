"""What a study knows of the distributions of heads: every decile of every measure."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="distribution", by=("measure", "decile"), first="decile"),))
