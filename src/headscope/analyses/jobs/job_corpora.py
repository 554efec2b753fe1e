"""The jobs of one corpus, from tables that hold those of the text and of a treebank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.study.head_columns import Read

_JOB = ["kind", "layer", "head", "job"]


@dataclass(frozen=True)
class CorpusJobs:
    """The jobs of heads in one corpus.

    Attributes:
        jobs: rows of `jobs`.
        tokens: the distinctive tokens by kind, layer, head, job and side, the most distinctive first.
        examples: rows of `job_examples`.
        counts: rows of `job_counts`.
    """

    jobs: pd.DataFrame
    tokens: Mapping[tuple[Any, ...], list[str]]
    examples: pd.DataFrame
    counts: pd.DataFrame

    def tokens_of(self, job: Mapping[str, Any]) -> list[list[str]]:
        """Return the distinctive tokens that attend, and of those attended to, of a row of `jobs`."""
        return [self.tokens.get((*(job[name] for name in _JOB), side), []) for side in ("row", "key")]


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
    by_side: dict[Any, list[str]] = {}
    if len(tokens):
        by_side = tokens.sort_values("rank").groupby([*_JOB, "side"])["token"].apply(list).to_dict()
    return CorpusJobs(jobs, by_side, examples, counts)
