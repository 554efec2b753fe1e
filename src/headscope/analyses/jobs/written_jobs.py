"""Jobs as tables, with the words of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distribution.drawn_tokens import excerpt_of
from headscope.analyses.jobs.active_rows import ActiveRows
from headscope.analyses.jobs.features import is_tagged
from headscope.analyses.jobs.found_jobs import SIDES, Job
from headscope.analyses.jobs.row_facts import BEFORE
from headscope.analyses.jobs.tables import COUNTS, TAG_COLUMNS, JobTables
from headscope.corpora.trees.universal_tags import TAGS
from headscope.examples.excerpts import Excerpt, WantedExcerpt
from headscope.prepare.prepared_run import Run
from headscope.statistics.confidence import ends_of

_TAGS = ("", *TAGS)
SHOWN = 3
"""Rows of each job."""
Found = Sequence[tuple[ActiveRows, Sequence[Job]]]


def job_tables(run: Run, found: Found, *, corpus: JobTables) -> dict[str, pd.DataFrame]:
    """Lay jobs out as tables.

    Args:
        run: says what tokens are called.
        found: the sample of each kind of attention, and the jobs found in it.
        corpus: the tables of what was read.
    """
    jobs: list[dict[str, Any]] = []
    tokens: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    for kept, own in found:
        names: dict[tuple[str, int], str] = {}
        for job in own:
            place = {"kind": kept.kind, "layer": job.layer, "head": job.head, "job": job.job}
            active = kept.active[job.layer - 1, job.head - 1] / max(1, kept.asked)
            jobs.append(
                {
                    **place,
                    "jobs": job.jobs,
                    **ends_of(job.share, (), value="share"),
                    "says": job.says,
                    "agreement": job.agreement,
                    "q_value": job.q,
                    "n": job.sampled,
                    "active": float(active),
                }
            )
            tokens += [{**place, **line} for line in _tokens(run, kept, job, names)]
            examples += [
                {**place, "rank": rank, **_example(run, kept, job, at)}
                for rank, at in enumerate(job.rows[:SHOWN].tolist(), 1)
            ]
    return {
        schema.name: pd.DataFrame(rows, columns=schema.names)
        for schema, rows in zip(corpus.schemas, (jobs, tokens, examples), strict=True)
    }


def job_counts(found: Found, control: Found | None) -> pd.DataFrame:
    """Count the heads with several jobs, of each kind.

    Args:
        found: of the model.
        control: the same of random weights.
    """
    rows = []
    for model, samples in (("trained", found), ("control", control or ())):
        for kept, jobs in samples:
            heads = [job for job in jobs if job.job == 1]
            tested = [job for job in heads if not np.isnan(job.q)]
            several = sum(job.jobs > 1 for job in tested)
            n_rows = sum(job.sampled for job in heads)
            rows.append((kept.kind, model, len(heads), len(tested), several, n_rows))
    return pd.DataFrame(rows, columns=COUNTS.names)


def _tokens(run: Run, kept: ActiveRows, job: Job, names: dict[tuple[str, int], str]) -> list[dict[str, Any]]:
    """Return the lines of a job's telling tokens; `names` is what tokens that came before are called."""
    own, lines = kept.rows[job.rows], []
    for side in SIDES:
        ids = own["ids"][:, BEFORE] if side == "row" else own["key_id"]
        for rank, one in enumerate(job.tokens.get(side, ()), 1):
            if (side, one.token) not in names:
                at = int(job.rows[np.flatnonzero(ids == one.token)[0]])
                excerpt = _excerpt(kept, job, at)
                words, (key,), _ = run.written(excerpt)
                names[side, one.token] = (
                    words[int(kept.rows[at]["row"]) - excerpt.start] if side == "row" else key
                )
            told = {"token": names[side, one.token], "log_odds": one.log_odds, "z": one.z, "n": one.count}
            lines.append({"of": side, "rank": rank, **told})
    return lines


def _example(run: Run, kept: ActiveRows, job: Job, at: int) -> dict[str, Any]:
    row = kept.rows[at]
    document, segment = kept.segments[int(row["segment"])]
    excerpt = _excerpt(kept, job, at)
    words, (key_word,), _ = run.written(excerpt)
    return {
        "document": document,
        "segment": segment,
        "row": int(row["row"]),
        "key": int(row["key"]),
        "weight": float(row["weight"]),
        **({side: _TAGS[int(row[side])] for side in TAG_COLUMNS} if is_tagged(kept.rows) else {}),
        "start": excerpt.start,
        "tokens": words,
        "joined": run.joined(excerpt),
        "key_token": key_word,
    }


def _excerpt(kept: ActiveRows, job: Job, at: int) -> Excerpt:
    """Return the tokens around a row, and its key."""
    row = kept.rows[at]
    document, segment = kept.segments[int(row["segment"])]
    wanted = WantedExcerpt(kept.kind, job.layer, job.head, "jobs", 1, 0.0, document, segment)
    return excerpt_of(row, wanted, before=BEFORE)
