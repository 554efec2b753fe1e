"""The distinctive tokens of jobs, from their table."""

import pandas as pd

JobSide = tuple[str, int, int, int, str]
"""Kind, layer, head, job, and side of the tokens."""


def tokens_by_job(tokens: pd.DataFrame) -> dict[JobSide, list[str]]:
    """Return the distinctive tokens of each job and side, the most distinctive first.

    Args:
        tokens: `job_tokens`.
    """
    by_job: dict[JobSide, list[str]] = {}
    for row in tokens.sort_values("rank").to_dict("records"):
        job_side = (str(row["kind"]), int(row["layer"]), int(row["head"]), int(row["job"]), str(row["of"]))
        by_job.setdefault(job_side, []).append(str(row["token"]))
    return by_job
