"""When a number may be spoken of: what stands out, what beats all others, what a share is on."""

from __future__ import annotations

from headscope.heads.behaviours import BROAD_RATIO
from headscope.reporting.arrays import Cell, Kind
from headscope.reporting.words import Words

LEAST_SHARE = 0.25
TIMES_UNIFORM = 2.0
BEHAVIOURS = ("previous", "next", "current", "cls", "sep", "punctuation")
WHERE = {"encoder": "the encoder", "decoder": "the decoder", "cross": "cross attention"}


def stands_out(cell: Cell) -> bool:
    """Return whether a share is large by the rule above; without an interval the value itself is held to it."""
    if not cell.exists:
        return False
    uniform = 0.0 if cell.uniform != cell.uniform else cell.uniform
    return cell.low > LEAST_SHARE and cell.low > TIMES_UNIFORM * uniform


def strongest(kind: Kind, statistic: str) -> tuple[int, int, Cell] | None:
    """Return (layer, head, cell) of the highest value, or None where the statistic cannot occur."""
    return max(kind.each(statistic), key=lambda item: item[2].value, default=None)


def beats_all(kind: Kind, statistic: str, layer: int, head: int) -> bool:
    """Return whether a head's interval lies above that of every other head of its kind."""
    mine = kind.cell(statistic, layer, head)
    others = [cell for a, b, cell in kind.each(statistic) if (a, b) != (layer, head)]
    return (
        mine.has_interval
        and bool(others)
        and all(cell.has_interval and mine.low > cell.high for cell in others)
    )


def target(statistic: str, words: Words) -> str:
    """Return what a share is on, as a sentence says it."""
    plain = {"previous": "the previous token", "next": "the next token", "current": "the current token"}
    return plain.get(statistic) or (
        "periods and commas" if statistic == "punctuation" else words.statistics[statistic]
    )


__all__ = [
    "BEHAVIOURS",
    "BROAD_RATIO",
    "LEAST_SHARE",
    "WHERE",
    "beats_all",
    "stands_out",
    "strongest",
    "target",
]
