"""The measures of distances in a study: coordinates on the map, and cluster."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="head_map", values=("x", "y", "cluster")),))
