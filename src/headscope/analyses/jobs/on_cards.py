"""Jobs on the cards of the atlas: share, description, distinctive tokens, and examples of rows."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.jobs.job_tokens import tokens_by_job
from headscope.analyses.jobs.tables import TEXT, TREES, JobTables
from headscope.report_kit.card_words import CardWords
from headscope.report_kit.kinds import Kind
from headscope.report_kit.measured import Measured
from headscope.report_kit.tables.cells import records

MANY_HEADS = 512
"""With more heads of a kind, a card has one row per job, so that the page opens at once."""


def job_cards(run: Measured, kind: Kind) -> dict[str, Any]:
    """Return `jobs` and `tree_jobs` for the cards of the heads of a kind; None where the run did not measure them.

    Each has `words`: every token as it is drawn, and in full where that differs; and `heads`: the jobs by the head's
    index, each with `share`, its ends `low` and `high` (None where unknown), `says`, the distinctive words `from` and
    `at`, and `rows` as `CardWords.attending` has them.
    """
    return {corpus.jobs.name: _cards(run, kind, corpus) for corpus in (TEXT, TREES)}


def _cards(run: Measured, kind: Kind, corpus: JobTables) -> dict[str, Any] | None:
    jobs = run.table(corpus.jobs.name)
    if jobs is None:
        return None
    words = CardWords()
    tokens, examples = run.table(corpus.tokens.name), run.table(corpus.examples.name)
    distinctive = {} if tokens is None else tokens_by_job(tokens)
    rows = _rows(examples, kind, words)
    heads: dict[int, list[dict[str, Any]]] = {}
    for row in records(jobs[jobs["kind"] == kind.name].sort_values(["layer", "head", "job"])):
        job = (kind.name, int(row["layer"]), int(row["head"]), int(row["job"]))
        heads.setdefault(kind.head_index(row["layer"], row["head"]), []).append(
            {
                **{name: _share(row[column]) for name, column in _ENDS.items()},
                "says": str(row["says"]),
                "from": [words.number(token) for token in distinctive.get((*job, "row"), ())],
                "at": [words.number(token) for token in distinctive.get((*job, "key"), ())],
                "rows": rows.get(job[1:], []),
            }
        )
    return {"words": words.drawn(), "heads": heads}


_ENDS = {"share": "share", "low": "ci_low", "high": "ci_high"}


def _rows(
    examples: pd.DataFrame | None, kind: Kind, words: CardWords
) -> dict[tuple[int, int, int], list[list[Any]]]:
    by_job: dict[tuple[int, int, int], list[list[Any]]] = {}
    if examples is None:
        return by_job
    examples_of_kind = examples[examples["kind"] == kind.name].sort_values("rank")
    if kind.size > MANY_HEADS:
        examples_of_kind = examples_of_kind[examples_of_kind["rank"] == 1]
    for row in records(examples_of_kind):
        job = (int(row["layer"]), int(row["head"]), int(row["job"]))
        by_job.setdefault(job, []).append(words.attending(row))
    return by_job


def _share(value: float) -> float | None:
    return None if isnan(value) else round(float(value), 4)
