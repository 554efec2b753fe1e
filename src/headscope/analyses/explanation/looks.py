"""Choose the look of each head on the grid: the color of its cell, the color's strength, and the bar at its bottom.

The first of these rules that holds decides on a head:

1. Inactive: less than 5% of its attention is non-sink attention (not on the first token, separators, a learned sink).
2. Broad: its non-sink attention has at least 78.3% of the entropy of uniform attention.
3. Unexplained: less than a third of its non-sink attention is predicted, or no group adds a positive share.
4. Otherwise the head looks at the largest group in the explanation of its non-sink attention. Groups of one color
   count together; features that vary with the attending token do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from headscope.analyses.explanation.catalog import GROUPS
from headscope.analyses.explanation.features import ATTENDING
from headscope.analyses.explanation.tables import EXPLANATION, EXPLANATION_GROUPS, NON_SINK, TEXT, TRAINED, WEIGHT
from headscope.report_kit.head_functions import BROAD, LOOKS, RESTS, UNEXPLAINED, HeadLook
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import records
from headscope.statistics.role_catalog import BROAD_RATIO
from headscope.statistics.tables.table_schema import TableSchema
from headscope.study.study import Study

LEAST_EXPLAINED = 1 / 3
LEAST_OFF_SINK = 0.05
WHAT_ATTENDS, ADDED = "broad", "added"
_OF_FAMILY: Mapping[str, str] = {
    "position": "position", "class of key": "period_comma", "copies": "copies", "word structure": "word",
    "content": "content", "words": "content", ATTENDING: WHAT_ATTENDS, "treebank": "syntax",
    "coreference": "coreference",
}  # fmt: skip
_OF_GROUP: Mapping[str, str] = {
    "previous": "previous", "next": "next", "current": "copies", "cls": "cls", "sink_logit": "cls",
    "induction": "after_copy",
}  # fmt: skip
COLORS = (*(color for color in LOOKS if color not in (BROAD, UNEXPLAINED)), "syntax", "coreference", WHAT_ATTENDS)
"""Names in the palette, in the order in which a bar is stacked; heads are drawn in at most nine colors."""


def color_of(group: str) -> str:
    """Return the name of a group's color in the palette; all groups that a user adds share one color."""
    if group not in GROUPS:
        return ADDED
    return _OF_GROUP.get(group) or _OF_FAMILY[GROUPS[group].family]


def rows_of(
    run: Study, kind: Kind, schema: TableSchema = EXPLANATION, *, corpus: str = TEXT, measure: str = WEIGHT,
    model: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the rows of a table of explanations on a kind of attention; none if the run has no such table."""
    table = run.tables[schema.name] if schema.name in run.tables else schema.frame([])
    chosen = (table["corpus"] == corpus) & (table["measure"] == measure) & (table["kind"] == kind.name)
    return table[chosen if model is None else chosen & (table["model"] == model)]


def head_looks(run: Study, kind: Kind) -> dict[int, HeadLook]:
    """Return the look of each head of a kind, by the head's index; none where its explanations were not tested."""
    explanation, groups = (
        rows_of(run, kind, schema, measure=NON_SINK, model=TRAINED) for schema in (EXPLANATION, EXPLANATION_GROUPS)
    )
    if EXPLANATION_GROUPS.name not in run.tables or not explanation["explained"].notna().any():
        return {}
    shares = stacked(groups)
    return {
        kind.head_index(row["layer"], row["head"]): look_of(row, shares.get((int(row["layer"]), int(row["head"])), {}))
        for row in records(explanation)
    }


def look_of(row: Mapping[str, Any], shares: Mapping[str, float]) -> HeadLook:
    """Return the look of a head by the rules above.

    Args:
        row: row of `tables/explanation.parquet` for the head's non-sink attention.
        shares: gains of the groups in its explained share, by color.
    """
    off_sink, explained = float(row["mass"]), float(row["explained"])
    shares = {color: share for color, share in shares.items() if color != WHAT_ATTENDS}
    if not off_sink >= LEAST_OFF_SINK:
        color = RESTS
    elif row["to_explain"] <= (1 - BROAD_RATIO) * row["uniform"]:
        color = BROAD
    elif not explained >= LEAST_EXPLAINED or not shares:
        color = UNEXPLAINED
    else:
        color = max(shares, key=lambda name: shares[name])
    return HeadLook(color=color, explained=explained, sink=1 - off_sink if off_sink == off_sink else 1.0)


def stacked(groups: pd.DataFrame) -> dict[tuple[int, int], dict[str, float]]:
    """Return the share of each color in each head, by (layer, head); groups with a negative share are left out.

    Args:
        groups: rows of `tables/explanation_groups.parquet` of one kind, measure and model.
    """
    bars: dict[tuple[int, int], dict[str, float]] = {}
    for row in records(groups[groups["share"] > 0]):
        bar, color = bars.setdefault((int(row["layer"]), int(row["head"])), {}), color_of(str(row["group"]))
        bar[color] = bar.get(color, 0.0) + float(row["share"])
    return bars
