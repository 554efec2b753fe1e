"""The jobs of heads, as a terminal shows them: a line a job."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.jobs.tables import TEXT, TREES, JobTables
from headscope.analyses.jobs.telling import told_tokens
from headscope.analyses.stage_result import StageResult
from headscope.reporting.kit.cells import records
from headscope.reporting.kit.terminal import Grid


def shown(*results: StageResult) -> Iterator[Grid | str]:
    """Yield every job with its share, what it is and the tokens that tell it, in the text and in a treebank."""
    for result in results:
        if len(results) > 1:
            yield "In the text" if result.name == "jobs" else "In the treebank"
        yield _grid(result, TEXT if result.name == "jobs" else TREES)
    yield (
        "of rows in which more than half of a head's weight lies off the sink; heads with fewer than 100 such rows are "
        "left out; from and at: the tokens that attend, and those attended to, that tell the job"
    )


def _grid(result: StageResult, corpus: JobTables) -> Grid:
    table = result.tables[corpus.jobs.name]
    tokens = told_tokens(result.tables[corpus.tokens.name])
    several = table["kind"].nunique() > 1
    rows = []
    for row in records(table):
        place = (row["kind"], int(row["layer"]), int(row["head"]), int(row["job"]))
        name = f"{place[1]}-{place[2]}"
        rows.append(
            [
                f"{row['kind']} {name}" if several else name,
                f"{place[3]} of {int(row['jobs'])}",
                f"{100 * row['share']:.0f}%",
                str(row["says"]),
                *(" ".join(tokens.get((*place, side), ())) for side in ("row", "key")),
            ]
        )
    labels = [("head", "left"), ("job", "left"), ("rows", "right"), ("what it does", "left")]
    return Grid([*labels, ("from", "left"), ("at", "left")], rows)
