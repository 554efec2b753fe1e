"""What a study knows of the jobs of heads: how many each has, how surely, and which share of its rows each is."""

from collections.abc import Iterator

from headscope.analyses.study_parts import HeadMeasures, StudyParts

_OF_THE_HEAD = {"job": 1}  # what is the same in all of a head's rows of the table


def _of(table: str, first: str) -> Iterator[HeadMeasures]:
    yield HeadMeasures(table=table, values=("jobs",), where=_OF_THE_HEAD, first=f"{first}jobs")
    yield HeadMeasures(table=table, values=("agreement", "active"), where=_OF_THE_HEAD, first=f"{first}jobs")
    yield HeadMeasures(table=table, values=("share",), by=("job",), first=f"{first}job share")


STUDY = StudyParts(heads=(*_of("jobs", ""), *_of("tree_jobs", "treebank ")))
