"""Jobs as tables, with the words of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distribution.row_tokens import excerpt_row
from headscope.analyses.jobs.active_rows import ActiveRows
from headscope.analyses.jobs.features import is_tagged
from headscope.analyses.jobs.head_jobs import SIDES, Job
from headscope.analyses.jobs.row_facts import BEFORE
from headscope.analyses.jobs.tables import COUNTS, EXAMPLES, JOBS, TAG_COLUMNS, TEXT, TOKENS
from headscope.corpora.trees.universal_tags import TAGS
from headscope.prepare.prepared_run import Run
from headscope.statistics.inference.confidence import ends_of

_TAGS = ("", *TAGS)
SHOWN = 3
"""Number of rows shown of each job."""
Samples = Sequence[tuple[ActiveRows, Sequence[Job]]]
"""The sample of each kind of attention, with its jobs."""


def job_tables(run: Run, samples: Mapping[str, Samples]) -> dict[str, pd.DataFrame]:
    """Lay jobs out as tables.

    Args:
        run: knows the tokens.
        samples: of each corpus.
    """
    jobs: list[dict[str, Any]] = []
    tokens: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    every = [(corpus, *sample) for corpus, of_corpus in samples.items() for sample in of_corpus]
    for corpus, sample, jobs_of_sample in every:
        names: dict[tuple[str, int], str] = {}
        for job in jobs_of_sample:
            head = {"kind": sample.kind, "layer": job.layer, "head": job.head}
            keys = {"corpus": corpus, **head, "job": job.job}
            active = sample.active[job.layer - 1, job.head - 1] / max(1, sample.n_rows)
            jobs.append({**keys, **vars(job), **ends_of(job.share, (), value="share"), "active": float(active)})
            tokens += [{**keys, **line} for line in _tokens(run, sample, job, names)]
            examples += [
                {**keys, "rank": rank, **_example(run, sample, at)}
                for rank, at in enumerate(job.rows[:SHOWN].tolist(), 1)
            ]
    return {
        schema.name: pd.DataFrame(rows, columns=schema.names)
        for schema, rows in zip((JOBS, TOKENS, EXAMPLES), (jobs, tokens, examples), strict=True)
    }


def job_counts(samples: Mapping[str, Samples], control: Samples) -> pd.DataFrame:
    """Count the heads with several jobs, of each kind.

    Args:
        samples: of the model, of each corpus.
        control: of the text with random weights; empty where it was not read so.
    """
    rows = []
    trained = [(corpus, "trained", of_corpus) for corpus, of_corpus in samples.items()]
    for corpus, model, of_model in (*trained, (TEXT, "control", control)):
        for sample, jobs in of_model:
            heads = [job for job in jobs if job.job == 1]
            tested = [job for job in heads if not np.isnan(job.q_value)]
            several = sum(job.jobs > 1 for job in tested)
            n_rows = sum(job.n_rows for job in heads)
            rows.append((corpus, sample.kind, model, len(heads), len(tested), several, n_rows))
    return pd.DataFrame(rows, columns=COUNTS.names)


def _tokens(run: Run, sample: ActiveRows, job: Job, names: dict[tuple[str, int], str]) -> list[dict[str, Any]]:
    """Return the lines of a job's distinctive tokens; `names` remembers the names of tokens."""
    rows, lines = sample.rows[job.rows], []
    for side in SIDES:
        ids = rows["ids"][:, BEFORE] if side == "row" else rows["key_id"]
        for rank, token in enumerate(job.tokens.get(side, ()), 1):
            if (side, token.token) not in names:
                at = int(job.rows[np.flatnonzero(ids == token.token)[0]])
                example = _example(run, sample, at)
                of_row = example["tokens"][example["row"] - example["start"]]
                names[side, token.token] = of_row if side == "row" else example["key_token"]
            lines.append({"side": side, "rank": rank, **vars(token), "token": names[side, token.token]})
    return lines


def _example(run: Run, sample: ActiveRows, at: int) -> dict[str, Any]:
    row = sample.rows[at]
    tags = {side: _TAGS[int(row[side])] if is_tagged(sample.rows) else "" for side in TAG_COLUMNS}
    return {**excerpt_row(run, row, sample.segments, kind=sample.kind, before=BEFORE), **tags}
