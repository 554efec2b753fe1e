"""The jobs of one corpus, from tables that hold those of the text and of a treebank."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from headscope.study.head_columns import Read

JobSide = tuple[str, int, int, int, str]
"""Kind, layer, head, job, and side of the tokens."""


@dataclass(frozen=True)
class CorpusJobs:
    """The jobs of heads in one corpus.

    Attributes:
        jobs: rows of `jobs`.
        tokens: the distinctive tokens of each job and side, the most distinctive first.
        examples: rows of `job_examples`.
        counts: rows of `job_counts`.
    """

    jobs: pd.DataFrame
    tokens: dict[JobSide, list[str]]
    examples: pd.DataFrame
    counts: pd.DataFrame


def corpus_jobs(read: Read, corpus: str) -> CorpusJobs | None:
    """Return the jobs of a corpus; None where the run looked for none in it.

    Args:
        read: returns a table by its name.
        corpus: one of `tables.CORPORA`.
    """
    names = ("jobs", "job_tokens", "job_examples", "job_counts")
    tables = [pd.DataFrame({"corpus": []}) if table is None else table for table in map(read, names)]
    jobs, tokens, examples, counts = (table[table["corpus"] == corpus] for table in tables)
    if jobs.empty and counts.empty:
        return None
    return CorpusJobs(jobs, _by_job(tokens), examples, counts)


def _by_job(tokens: pd.DataFrame) -> dict[JobSide, list[str]]:
    """Return the distinctive tokens of each job and side, in the order of their ranks."""
    by_job: dict[JobSide, list[str]] = {}
    for row in (tokens.sort_values("rank") if len(tokens) else tokens).to_dict("records"):
        job_side = (str(row["kind"]), int(row["layer"]), int(row["head"]), int(row["job"]), str(row["side"]))
        by_job.setdefault(job_side, []).append(str(row["token"]))
    return by_job
