"""What a study knows of heads' directions: in how many each of its vectors varies, and how much along each."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="pca", by=("vectors", "statistic")),))
