"""What a study knows of the jobs of heads: how many each has, how surely, and which share of its rows each is."""

from headscope.analyses.study_parts import HeadMeasures, StudyParts

_OF_THE_HEAD = {"job": 1}  # what is the same in all of a head's rows of the table

STUDY = StudyParts(
    heads=(
        HeadMeasures(table="jobs", values=("jobs",), where=_OF_THE_HEAD, first="jobs"),
        HeadMeasures(table="jobs", values=("agreement", "active"), where=_OF_THE_HEAD, first="jobs"),
        HeadMeasures(table="jobs", values=("share",), by=("job",), first="job share"),
    )
)
