"""The part of a study on probes: the weight that each gives a head."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(
    heads=(HeadMeasures(table="probe_weights", values=("weight",), by=("probe", "direction")),)
)
