"""The measures of jobs in a study: the number of jobs of each head, their agreement, and the share of each job."""

from collections.abc import Iterator

from headscope.analyses.study_parts import HeadMeasures, StudyParts

_OF_THE_HEAD = {"job": 1}  # values that are the same in all rows of a head


def _of(table: str, suffix: str = "") -> Iterator[HeadMeasures]:
    yield HeadMeasures(table=table, values=("jobs", "agreement", "active"), where=_OF_THE_HEAD, suffix=suffix)
    yield HeadMeasures(table=table, values=("share",), by=("job",), measure="share", suffix=suffix)


STUDY = StudyParts(heads=(*_of("jobs"), *_of("tree_jobs", "treebank")))
