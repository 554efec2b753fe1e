"""The jobs of every head: which rows each has, with its share over documents, words and tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.active_rows import ActiveRows
from headscope.analyses.jobs.clusters import FEWEST_ROWS, HeadRows, job_clusters
from headscope.analyses.jobs.describing import described, told_apart
from headscope.analyses.jobs.distinctive_tokens import DistinctiveToken, distinctive_tokens
from headscope.analyses.jobs.features import FEATURES, TAGS_OF_KEYS, chosen, context, features
from headscope.analyses.jobs.row_facts import BEFORE
from headscope.statistics.confidence import Interval, ratio_interval
from headscope.statistics.groups import GROUPS, group_of

SIDES = ("row", "key")
"""Whose tokens tell a job: those that attend, and those that they attend to."""


@dataclass(frozen=True)
class Job:
    """One job of a head.

    Attributes:
        layer, head, job: from 1; jobs by their shares, the largest first.
        jobs: how many the head has.
        share: of the head's rows, with its interval; arrays of one number.
        agreement: of half-samples on all of the head's jobs; NaN where it has one.
        q: that there is no valley between some two of the jobs, over the heads; NaN where it was not tested.
        says: what is done, in words.
        sampled: how many rows of the head were read.
        rows: the job's, as places in the sample's `rows`, by hash.
        tokens: that tell it, by `SIDES`.
    """

    layer: int
    head: int
    job: int
    jobs: int
    share: Interval
    agreement: float
    q: float
    says: str
    sampled: int
    rows: NDArray[np.int64]
    tokens: dict[str, list[DistinctiveToken]]


def found_jobs(kept: ActiveRows, *, seed: int, same_ids: bool = True) -> Iterator[Job]:
    """Yield the jobs of every head with 100 active rows or more, by layer, head and job.

    Args:
        kept: the sample of one kind of attention.
        seed: of the clusters.
        same_ids: whether equal ids are equal tokens; where they are not, no token tells a job.
    """
    square, heads = kept.kind != "cross", kept.active.shape[1]
    begins = np.searchsorted(kept.rows["place"], np.arange(kept.active.size + 1))
    groups = _groups(kept)
    # Ids as numbers from 0, of rows and of keys.
    ids = {"row": kept.rows["ids"][:, BEFORE], "key": kept.rows["key_id"]}
    known = {side: np.unique(ids[side], return_inverse=True) for side in SIDES}
    every = {side: _count(known[side], slice(None)) for side in SIDES}
    spans = [
        (place, begin, end)
        for place, (begin, end) in enumerate(pairwise(begins.tolist()))
        if end - begin >= FEWEST_ROWS
    ]
    told = [
        _head_rows(kept.rows[begin:end], groups[begin:end], square=square, same_ids=same_ids)
        for _, begin, end in spans
    ]
    every_cluster = job_clusters(told, seed=seed)
    for (place, begin, end), head, clusters in zip(spans, told, every_cluster, strict=True):
        around, used, found = context(kept.rows[begin:end]), head.used, head.features
        # Parts of speech that chance gives as well say nothing of a job either.
        found = np.where(np.isin(FEATURES, TAGS_OF_KEYS) & ~used, 0.0, found)
        shares = shares_of(clusters.labels, clusters.number, groups[begin:end])
        whole = np.arange(len(kept.rows))
        members = [np.flatnonzero(clusters.labels == job) for job in range(clusters.number)]
        says = [described(found[own], around[own], square=square) for own in members]
        says = told_apart(says) if clusters.by_output else says
        for job, own in enumerate(members):
            inside = np.isin(whole, begin + own)
            others = ~inside if clusters.number == 1 else (whole >= begin) & (whole < end) & ~inside
            tokens: dict[str, list[DistinctiveToken]] = {}
            for side in SIDES if same_ids else ():
                here, there = (_count(known[side], chosen) for chosen in (inside, others))
                tokens[side] = [
                    DistinctiveToken(int(known[side][0][one.token]), one.log_odds, one.z, one.count)
                    for one in distinctive_tokens(here, there, every[side])
                ]
            yield Job(
                layer=place // heads + 1,
                head=place % heads + 1,
                job=job + 1,
                jobs=clusters.number,
                share=Interval(*(ends[job] for ends in (shares.value, shares.low, shares.high))),
                agreement=clusters.agreement,
                q=clusters.q,
                says=says[job],
                sampled=end - begin,
                rows=begin + own,
                tokens=tokens,
            )


def _head_rows(rows: NDArray[Any], documents: NDArray[np.int64], *, square: bool, same_ids: bool) -> HeadRows:
    found = features(rows, square=square, same_ids=same_ids)
    return HeadRows(features=found, used=chosen(found, rows), documents=documents, square=square)


def _count(
    known: tuple[NDArray[Any], NDArray[np.int64]], chosen: NDArray[np.bool_] | slice
) -> NDArray[np.int64]:
    """Count the tokens of chosen rows, `[token]`."""
    names, numbers = known
    return np.bincount(numbers.reshape(-1)[chosen], minlength=len(names))


def _groups(kept: ActiveRows) -> NDArray[np.int64]:
    """Return the number of each row's document, or of its group where there are more than 256, `[row]`."""
    documents = [document for document, _ in kept.segments]
    if len(set(documents)) > GROUPS:
        numbers = np.array([group_of(document) for document in documents])
    else:
        numbers = np.unique(np.array(documents), return_inverse=True)[1].reshape(-1)
    return np.asarray(numbers[kept.rows["segment"]])


def shares_of(labels: NDArray[np.int64], number: int, groups: NDArray[np.int64]) -> Interval:
    """Return the share of the rows that each job has, with its interval over documents, `[job]`."""
    _, numbers = np.unique(groups, return_inverse=True)
    sums = np.zeros((int(numbers.max()) + 1, number))
    np.add.at(sums, (numbers.reshape(-1), labels), 1.0)
    return ratio_interval(sums, sums.sum(1, keepdims=True), scale="share")
