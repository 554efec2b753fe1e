"""When a number may be spoken of: what stands out, what beats all others, what a share is on."""

from __future__ import annotations

from math import isnan

import pandas as pd

from headscope.report_kit.comparing import compared
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.words import Words
from headscope.statistics.statistic_catalog import STATISTICS

LEAST_SHARE = 0.25
TIMES_UNIFORM = 2.0


def stands_out(cell: Cell) -> bool:
    """Return whether a share is large by the rule above; without an interval the value itself is held to it."""
    if not cell.exists:
        return False
    uniform = 0.0 if isnan(cell.uniform) else cell.uniform
    return cell.low > LEAST_SHARE and cell.low > TIMES_UNIFORM * uniform


def strongest(kind: Kind, statistic: str) -> tuple[int, int, Cell] | None:
    """Return (layer, head, cell) of the highest value, or None where the statistic cannot occur."""
    return max(kind.each(statistic), key=lambda item: item[2].value, default=None)


def beats_all(differences: pd.DataFrame | None, kind: Kind, statistic: str, layer: int, head: int) -> bool:
    """Return whether a head's share lies above that of every other head of its kind, by its nearest rival."""
    gap = compared(differences, kind=kind.name, layer=layer, head=head, statistic=statistic)
    return gap is not None and gap.verdict == "more"


def target(statistic: str, words: Words) -> str:
    """Return what a share is on, as a sentence says it."""
    return words.fill(STATISTICS[statistic].target)
