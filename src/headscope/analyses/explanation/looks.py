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

from headscope.analyses.explanation.colors import WHAT_ATTENDS, color_of
from headscope.analyses.explanation.tables import NON_SINK, TEXT, TRAINED
from headscope.report_kit.head_looks import BROAD, RESTS, UNEXPLAINED, HeadLook
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import records
from headscope.statistics.role_catalog import BROAD_RATIO
from headscope.study.study import Study

LEAST_EXPLAINED = 1 / 3
LEAST_OFF_SINK = 0.05


def head_looks(run: Study, kind: Kind) -> dict[int, HeadLook]:
    """Return the look of each head of a kind, by the head's index; none where its explanations were not tested."""
    explanation, groups = run.tables.get("explanation"), run.tables.get("explanation_groups")
    if explanation is None or groups is None:
        return {}
    rows, shares = _off_sink(explanation, kind), stacked(_off_sink(groups, kind))
    if not rows["explained"].notna().any():
        return {}
    return {
        kind.head_index(row["layer"], row["head"]): look_of(row, shares.get((int(row["layer"]), int(row["head"])), {}))
        for row in records(rows)
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


def _off_sink(table: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the rows of a table on the non-sink attention of the trained model's heads in the text."""
    of_text = (table["corpus"] == TEXT) & (table["measure"] == NON_SINK) & (table["model"] == TRAINED)
    return table[of_text & (table["kind"] == kind.name)]
