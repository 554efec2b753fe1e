"""Are jobs of heads invented, found, and their shares right? Made-up heads whose jobs are known.

Invented: heads that do one thing, at distances without a gap; the share of them whose split passes the test of a
single head may not be above 5%. False: of the heads said to have several jobs among many, the share that has one.
Power: the share of heads with planted jobs that are said to have as many. Coverage: the share of 95% intervals that
hold the planted share of rows; printed only, where kinds of rows overlap.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cells import Cell, print_cells
from headscope.analyses.jobs.clustering.clusters import HeadRows, job_clusters
from headscope.analyses.jobs.features import DIRECTIONS, FEATURES, WRITTEN, informative_features
from headscope.analyses.jobs.head_jobs import shares_of
from headscope.analyses.jobs.row_facts import ACTIVE_ROW

ONE_JOB = ("geometric", "steep geometric", "half-normal", "log-uniform", "uniform 0 to 10")
PLANTED = (
    "previous and far",
    "previous and next",
    "itself and far",
    "previous and copies",
    "writes two things",
    "previous and punctuation",
)
OVERLAP = 0.02
"""Of rows so many may be taken for the other job's, where the interval of a job's share is to hold."""
SIZES = ((12, 300), (50, 1000))
"""Documents, and rows in all."""
LEVEL = 0.05
"""Of the heads with one job so many may pass the test; 1,000 heads a cell tell that from 8%."""


def distances(world: str, number: int, rng: np.random.Generator, scale: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw how many tokens away keys are, without a gap.

    Args:
        world: of `ONE_JOB`.
        number: of rows.
        rng: draws.
        scale: how much further keys are in each row's document than on average.
    """
    drawn = {
        "geometric": lambda: rng.exponential(6 * scale),
        "steep geometric": lambda: rng.exponential(1.2 * scale),
        "half-normal": lambda: np.abs(rng.normal(0, 6 * scale)),
        "log-uniform": lambda: np.exp2(rng.uniform(0, 6, number)) - 1,
        "uniform 0 to 10": lambda: rng.uniform(0, 11, number),
    }[world]()
    return np.floor(drawn).astype(np.int64)


@dataclass(frozen=True)
class Made:
    """A made-up head: its rows, and which of the planted jobs each is of."""

    rows: HeadRows
    job: NDArray[np.int64]


def made(world: str, *, documents: int, rows: int, both: bool, rng: np.random.Generator, share: float = 0.3) -> Made:
    """Draw a head.

    Documents are of heavy-tailed sizes, look further or less far, and have more or fewer rows of the second job.

    Args:
        world: of `ONE_JOB` or `PLANTED`.
        documents: how many.
        rows: how many, in all.
        both: whether keys without a planted side lie on either.
        rng: draws.
        share: of the rows that are of the second job.
    """
    size = rng.lognormal(0, 1, documents)
    document = rng.choice(documents, rows, p=size / size.sum())
    scale = np.exp(rng.normal(0, 0.3, documents))[document]
    # Beta with a deviation of about 0.1 over documents.
    job = (rng.random(rows) < rng.beta(20 * share, 20 * (1 - share), documents)[document]).astype(np.int64)
    found = np.zeros((rows, len(FEATURES)))
    column = {name: found[:, place] for place, name in enumerate(FEATURES)}
    sign = np.where(rng.random(rows) < 0.5, -1, 1) if both else np.ones(rows, dtype=np.int64)
    far = 5 + np.floor(rng.exponential(20 * scale)).astype(np.int64)
    written = rng.normal(0, 1, (rows, DIRECTIONS)) * np.exp2(-np.arange(DIRECTIONS) / 3)
    tokens = np.ones(rows, dtype=np.int64)
    if world in ONE_JOB:
        job[:] = 0
        tokens = distances(world, rows, rng, scale) * sign
        column["key period or comma"][:] = rng.random(rows) < 0.12
        # What is written follows how far the key is, without a gap either.
        written[:, 0] += np.log2(1 + np.abs(tokens))
    elif world == "previous and far":
        tokens = np.where(job, far * sign, 1)
    elif world == "previous and next":
        tokens = np.where(job, -1, 1)
    elif world == "itself and far":
        tokens = np.where(job, far * sign, 0)
    elif world == "previous and copies":
        tokens = np.where(job, far * sign, 1)
        column["same id"][:] = job
    elif world == "writes two things":
        tokens = far * sign
        written[:, 0] += 6 * job
    else:
        # A tenth of all tokens are punctuation, so that the last one may be the token before.
        near = 1 + rng.geometric(0.1, rows) - 1
        tokens = np.where(job, near, 1)
        column["key period or comma"][:] = np.where(job, True, rng.random(rows) < 0.1)
    column["offset"][:] = np.log2(1.0 + np.abs(tokens))
    column["side"][:] = np.sign(tokens)
    found[:, FEATURES.index(WRITTEN[0]) :] = written - written.mean(0)
    kept = np.zeros(rows, dtype=ACTIVE_ROW)
    kept["uniform"] = (0.02, 0.01, 0.1, 0.02)
    return Made(HeadRows(features=found, used=informative_features(found, kept), documents=document), job)


def of_one_job(task: tuple[str, int, int, int]) -> list[Cell]:
    """How often a head that does one thing passes the test of a single head; every other one looks to both sides.

    Args:
        task: distances, documents, rows, heads.
    """
    world, documents, rows, heads = task
    rng = np.random.default_rng([1, documents, rows])
    size = {"documents": documents, "rows": rows}
    drawn = [made(world, **size, both=turn % 2 == 0, rng=rng).rows for turn in range(heads)]
    passed = np.mean([clusters.p < LEVEL for clusters in job_clusters(drawn, seed=0)])
    return [Cell("false-discovery", f"{world}, {rows} rows", documents, heads, float(passed))]


def of_planted(task: tuple[str, int, int, int]) -> list[Cell]:
    """How often planted jobs are found among twice as many heads that have one, and how many of those found have one.

    Args:
        task: which jobs, documents, rows, heads.
    """
    world, documents, rows, heads = task
    rng = np.random.default_rng([2, documents, rows])
    size = {"documents": documents, "rows": rows, "both": world != "previous and next"}
    planted = [made(world, **size, rng=rng) for _ in range(heads)]
    others = [made(ONE_JOB[turn % len(ONE_JOB)], **size, rng=rng).rows for turn in range(2 * heads)]
    found = job_clusters([*(one.rows for one in planted), *others], seed=0)
    several = np.array([clusters.number > 1 for clusters in found])
    name = f"{world}, {rows} rows"
    cells = [
        Cell("power", name, documents, heads, float(several[:heads].mean())),
        Cell(
            *("false-discovery", f"among those found, {name}", documents, max(1, int(several.sum()))),
            float(several[heads:].sum() / max(1, several.sum())),
        ),
    ]
    return cells + _shares(planted, found, name, documents)


def _shares(planted: list[Made], found: list, name: str, documents: int) -> list[Cell]:
    """How far shares are from the planted one, and how often their intervals hold it, where two jobs were found."""
    errors, held, mistaken = [], [], []
    for one, clusters in zip(planted, found, strict=False):
        if clusters.number != 2:
            continue
        shares = shares_of(clusters.labels, 2, one.rows.documents)
        # The cluster with more of the second job's rows stands for it.
        own = int((one.job[clusters.labels == 1].mean()) > one.job[clusters.labels == 0].mean())
        errors.append(float(shares.value[own]) - 0.3)
        held.append(shares.low[own] <= 0.3 <= shares.high[own])
        mistaken.append(float(((clusters.labels == own) != (one.job == 1)).mean()))
    if not held:
        return []
    # Intervals are of the labels: they hold a job's share where the labels tell whose row is whose.
    check = "coverage-where-jobs-overlap" if np.mean(mistaken) > OVERLAP else "coverage"
    return [
        Cell("rows-taken-for-the-other-job", name, documents, len(held), float(np.mean(mistaken))),
        Cell(check, f"share, {name}", documents, len(held), float(np.mean(held))),
        Cell("share-off-by", f"share, {name}", documents, len(held), float(np.mean(errors))),
    ]


def plan(*, quick: bool) -> Iterator[tuple]:
    """Yield what to run."""
    heads = 50 if quick else 1000
    for world in ONE_JOB:
        for documents, rows in SIZES:
            yield of_one_job, (world, documents, rows, heads)
    for world in PLANTED:
        for documents, rows in SIZES:
            yield of_planted, (world, documents, rows, heads // 10)


if __name__ == "__main__":
    raise SystemExit(print_cells(plan, description=__doc__))
