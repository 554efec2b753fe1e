"""The jobs of every head, each with its rows, its share over documents, a description and distinctive tokens."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.active_rows import ActiveRows
from headscope.analyses.jobs.clustering.clusters import FEWEST_ROWS, HeadRows, job_clusters
from headscope.analyses.jobs.descriptions import described, distinguished
from headscope.analyses.jobs.distinctive_tokens import DistinctiveToken, distinctive_tokens
from headscope.analyses.jobs.features import FEATURES, TAGS_OF_KEYS, context, features, informative_features
from headscope.analyses.jobs.row_facts import BEFORE
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.sums.groups import group_numbers

SIDES = ("row", "key")
"""The two tokens of a row, the attending and the attended one; both have distinctive tokens."""


@dataclass(frozen=True)
class Job:
    """One job of a head.

    Attributes:
        layer, head, job: 1-based; the job with the largest share is the first.
        jobs: number of jobs of the head.
        share: share of the head's rows, with its interval; 0-dimensional arrays.
        agreement: agreement of half-samples on all of the head's jobs; NaN for a single job.
        q_value: of the hypothesis that there is no valley between some two of the jobs, over the heads; NaN where not
            tested.
        description: the job in words.
        n_rows: number of rows of the head in the sample.
        rows: indices of the job's rows in the sample's `rows`, by hash.
        tokens: its distinctive tokens, by `SIDES`.
    """

    layer: int
    head: int
    job: int
    jobs: int
    share: Interval
    agreement: float
    q_value: float
    description: str
    n_rows: int
    rows: NDArray[np.int64]
    tokens: dict[str, list[DistinctiveToken]]


def head_jobs(sample: ActiveRows, *, seed: int, same_ids: bool = True) -> Iterator[Job]:
    """Yield the jobs of every head with 100 active rows or more, by layer, head and job.

    Args:
        sample: the sample of one kind of attention.
        seed: of the clusters.
        same_ids: whether equal ids are equal tokens; where they are not, jobs have no distinctive tokens.
    """
    square, heads = sample.kind != "cross", sample.active.shape[1]
    begins = np.searchsorted(sample.rows["cell"], np.arange(sample.active.size + 1))
    # The number of each row's document, or of its group where there are more than 256.
    groups = np.asarray(group_numbers([document for document, _ in sample.segments])[sample.rows["segment"]])
    # Ids as numbers from 0, of rows and of keys.
    ids = {"row": sample.rows["ids"][:, BEFORE], "key": sample.rows["key_id"]}
    known = {side: np.unique(ids[side], return_inverse=True) for side in SIDES}
    every = {side: _count(known[side], slice(None)) for side in SIDES}
    spans = [
        (head_index, begin, end)
        for head_index, (begin, end) in enumerate(pairwise(begins.tolist()))
        if end - begin >= FEWEST_ROWS
    ]
    rows_of_heads = [
        _head_rows(sample.rows[begin:end], groups[begin:end], square=square, same_ids=same_ids)
        for _, begin, end in spans
    ]
    every_cluster = job_clusters(rows_of_heads, seed=seed)
    for (head_index, begin, end), head, clusters in zip(spans, rows_of_heads, every_cluster, strict=True):
        around, used, values = context(sample.rows[begin:end]), head.used, head.features
        # Parts of speech that are no more frequent than by chance do not describe a job either.
        values = np.where(np.isin(FEATURES, TAGS_OF_KEYS) & ~used, 0.0, values)
        shares = shares_of(clusters.labels, clusters.number, groups[begin:end])
        whole = np.arange(len(sample.rows))
        members = [np.flatnonzero(clusters.labels == job) for job in range(clusters.number)]
        descriptions = [described(values[positions], around[positions], square=square) for positions in members]
        descriptions = distinguished(descriptions) if clusters.by_output else descriptions
        for job, positions in enumerate(members):
            inside = np.isin(whole, begin + positions)
            others = ~inside if clusters.number == 1 else (whole >= begin) & (whole < end) & ~inside
            tokens: dict[str, list[DistinctiveToken]] = {}
            for side in SIDES if same_ids else ():
                here, there = (_count(known[side], selected) for selected in (inside, others))
                tokens[side] = [
                    replace(token, token=int(known[side][0][token.token]))
                    for token in distinctive_tokens(here, there, every[side])
                ]
            yield Job(
                layer=head_index // heads + 1,
                head=head_index % heads + 1,
                job=job + 1,
                jobs=clusters.number,
                share=Interval(*(ends[job] for ends in (shares.value, shares.low, shares.high))),
                agreement=clusters.agreement,
                q_value=clusters.q,
                description=descriptions[job],
                n_rows=end - begin,
                rows=begin + positions,
                tokens=tokens,
            )


def _head_rows(rows: NDArray[Any], documents: NDArray[np.int64], *, square: bool, same_ids: bool) -> HeadRows:
    values = features(rows, square=square, same_ids=same_ids)
    return HeadRows(features=values, used=informative_features(values, rows), documents=documents, square=square)


def _count(known: tuple[NDArray[Any], NDArray[np.int64]], selected: NDArray[np.bool_] | slice) -> NDArray[np.int64]:
    """Count the tokens of the selected rows, `[token]`."""
    names, numbers = known
    return np.bincount(numbers.reshape(-1)[selected], minlength=len(names))


def shares_of(labels: NDArray[np.int64], number: int, groups: NDArray[np.int64]) -> Interval:
    """Return the share of the rows that each job has, with its interval over documents, `[job]`."""
    _, numbers = np.unique(groups, return_inverse=True)
    sums = np.zeros((int(numbers.max()) + 1, number))
    np.add.at(sums, (numbers.reshape(-1), labels), 1.0)
    return ratio_interval(sums, sums.sum(1, keepdims=True), scale="share")
