"""What a study knows of the jobs of heads: how many each has."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

STUDY = StudyParts(heads=(HeadMeasures(table="jobs", values=("jobs",), where={"job": 1}, first="jobs"),))
