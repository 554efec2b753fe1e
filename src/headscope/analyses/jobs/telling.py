"""The tokens that tell a job, as they are shown beside it."""

import pandas as pd

Place = tuple[str, int, int, int, str]
"""Kind, layer, head, job, and whose tokens they are."""


def told_tokens(tokens: pd.DataFrame) -> dict[Place, list[str]]:
    """Return the telling tokens of each job and side, the most telling first.

    Args:
        tokens: `job_tokens`.
    """
    found: dict[Place, list[str]] = {}
    for row in tokens.sort_values("rank").to_dict("records"):
        place = (str(row["kind"]), int(row["layer"]), int(row["head"]), int(row["job"]), str(row["of"]))
        found.setdefault(place, []).append(str(row["token"]))
    return found
