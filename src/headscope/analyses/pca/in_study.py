"""The measures of principal directions in a study: effective dimensions, and shares of the variance."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="pca", by=("vectors", "statistic")),))
