"""Jobs on the cards of the atlas: share, description, distinctive tokens, and examples of rows."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.jobs.job_corpora import CorpusJobs, corpus_jobs
from headscope.analyses.jobs.tables import CORPORA
from headscope.report_kit.card_words import CardWords
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import records
from headscope.study.study import Study

MANY_HEADS = 512
"""With more heads of a kind, a card has one row per job, so that the page opens at once."""


def job_cards(run: Study, kind: Kind) -> dict[str, Any]:
    """Return `jobs` for the cards of the heads of a kind: by corpus, None where the run looked for none in it.

    Each corpus has `words`: every token as it is drawn, and in full where that differs; and `heads`: the jobs by the
    head's index, each with `share`, its ends `low` and `high` (None where unknown), `description`, the distinctive
    words `from` and `at`, and `rows` as `CardWords.attending` has them.
    """
    of_corpora = {corpus: corpus_jobs(run.tables.get, corpus) for corpus in CORPORA}
    return {"jobs": {name: None if jobs is None else _cards(jobs, kind) for name, jobs in of_corpora.items()}}


def _cards(corpus: CorpusJobs, kind: Kind) -> dict[str, Any]:
    words = CardWords()
    jobs, rows = corpus.jobs, _rows(corpus.examples, kind, words)
    heads: dict[int, list[dict[str, Any]]] = {}
    for row in records(jobs[jobs["kind"] == kind.name].sort_values(["layer", "head", "job"])):
        attending, attended = ([words.number(token) for token in tokens] for tokens in corpus.tokens_of(row))
        heads.setdefault(kind.head_index(row["layer"], row["head"]), []).append(
            {
                **{name: _share(row[column]) for name, column in _ENDS.items()},
                "description": str(row["description"]),
                "from": attending,
                "at": attended,
                "rows": rows.get((row["layer"], row["head"], row["job"]), []),
            }
        )
    return {"words": words.drawn(), "heads": heads}


_ENDS = {"share": "share", "low": "ci_low", "high": "ci_high"}


def _rows(examples: pd.DataFrame, kind: Kind, words: CardWords) -> dict[tuple[int, int, int], list[list[Any]]]:
    by_job: dict[tuple[int, int, int], list[list[Any]]] = {}
    if examples.empty:
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
