"""What each color of the palette explains of a head: the bars of the figure, and the tints of the head grid."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.explanation.colors import color_of
from headscope.analyses.explanation.tables import TEXT, TRAINED, WEIGHT
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import records
from headscope.study.study import Study

LEAST_TINT = 1 / 3
"""A head without a role has the color of the groups that explain so much of it."""


def stacked(groups: pd.DataFrame) -> dict[tuple[int, int], dict[str, float]]:
    """Return the share of each color in each head, (layer, head); what takes away from a share is left out.

    Args:
        groups: rows of `tables/explanation_groups.parquet` of one kind, measure and model.
    """
    bars: dict[tuple[int, int], dict[str, float]] = {}
    for row in records(groups[groups["share"] > 0]):
        bar, color = bars.setdefault((int(row["layer"]), int(row["head"])), {}), color_of(str(row["group"]))
        bar[color] = bar.get(color, 0.0) + float(row["share"])
    return bars


def head_tints(run: Study, kind: Kind) -> dict[int, str]:
    """Return the color of what explains most of each head of a kind, by its index; none where that is below a third."""
    groups = run.tables.get("explanation_groups")
    if groups is None:
        return {}
    of_text = (groups["corpus"] == TEXT) & (groups["measure"] == WEIGHT) & (groups["model"] == TRAINED)
    tints = {}
    for (layer, head), shares in stacked(groups[of_text & (groups["kind"] == kind.name)]).items():
        color = max(shares, key=lambda name: shares[name])
        if shares[color] >= LEAST_TINT:
            tints[kind.head_index(layer, head)] = color
    return tints
