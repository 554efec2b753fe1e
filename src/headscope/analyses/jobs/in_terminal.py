"""The jobs of heads in the terminal, a line per job."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headscope.analyses.jobs.job_corpora import CorpusJobs, corpus_jobs
from headscope.analyses.jobs.tables import TEXT, TREEBANK
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.tables.cells import records
from headscope.report_kit.tables.terminal import Grid
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

_CORPORA = {TEXT: "In the text", TREEBANK: "In the treebank"}


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield every job with its share, description and distinctive tokens, in the text and in a treebank."""
    by_corpus = {corpus: corpus_jobs(result.tables.get, corpus) for corpus in _CORPORA}
    measured = {corpus: jobs for corpus, jobs in by_corpus.items() if jobs is not None}
    for corpus, jobs in measured.items():
        if len(measured) > 1:
            yield _CORPORA[corpus]
        yield _grid(jobs)
        if corpus == TEXT:
            yield from _counts(jobs.counts)
    yield (
        "of rows in which a head's non-sink attention is above 50%; heads with fewer than 100 such rows are "
        "left out; rows: the share that is grouped with the job; "
        "from and at: the tokens that attend, and those attended to, that tell the job"
    )


def _counts(counts: pd.DataFrame) -> Iterator[str]:
    """Yield the number of heads with several jobs, in the model and in one with random weights."""
    prefix = kind_prefixes(counts["kind"])
    for kind, counts_of_kind in counts.groupby("kind", sort=False):
        by_model = {str(row["model"]): row for row in records(counts_of_kind)}
        if not by_model["trained"]["tested"]:
            yield f"no {prefix[kind]}head was tested for several jobs, which needs rows of {FEWEST_DOCUMENTS} documents"
            continue
        trained, *control = (
            f"{row['several']:,} of {row['tested']:,}"
            for row in (by_model["trained"], by_model.get("control"))
            if row is not None
        )
        beside = "".join(f"; with random weights {of}" for of in control)
        yield f"{trained} {prefix[kind]}heads have several jobs{beside}"


def _grid(corpus: CorpusJobs) -> Grid:
    prefix = kind_prefixes(corpus.jobs["kind"])
    rows = [
        [
            prefix[row["kind"]] + head_label(row["layer"], row["head"]),
            f"{row['job']} of {row['jobs']}",
            f"{100 * row['share']:.0f}%",
            str(row["description"]),
            *map(" ".join, corpus.tokens_of(row)),
        ]
        for row in records(corpus.jobs)
    ]
    words = ("job", "what it does", "from", "at")
    return Grid(("head", "job", "rows", "what it does", "from", "at"), rows, words=words)
