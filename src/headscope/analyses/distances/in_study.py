"""What a study knows of the map of heads: place and cluster."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="head_map", values=("x", "y", "cluster"), first="map"),))
