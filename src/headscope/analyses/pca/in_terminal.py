"""In how many directions heads' vectors vary, as a terminal shows it: a line a head."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from headscope.analyses.pca.accumulator import SIDES
from headscope.analyses.pca.tables import EFFECTIVE, SHARE_NAMES
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label
from headscope.reporting.kit.terminal import Grid


def shown(result: StageResult) -> Iterator[Grid | str]:
    """Yield the effective dimension of every head's vectors, with the share of the first direction."""
    table = result.tables["pca"]
    several = table["kind"].nunique() > 1
    rows = []
    for (kind, layer, head), own in table.groupby(["kind", "layer", "head"], sort=False):
        by_side = own.set_index(["vectors", "statistic"])["value"]
        name = head_label(layer, head)
        told = [
            f"{_number(by_side[side, EFFECTIVE])} ({_percent(by_side[side, SHARE_NAMES[0]])})"
            for side in SIDES
        ]
        rows.append([f"{kind} {name}" if several else name, *told])
    labels = [(label, "right") for label in ("queries", "keys", "output")]
    yield Grid([("head", "left"), *labels], rows)
    yield (
        "in how many directions they vary, as if evenly (in brackets: the share of the variance along the first); "
        "special tokens are left out"
    )


def _number(value: float) -> str:
    return "-" if isnan(value) else f"{value:.1f}"


def _percent(value: float) -> str:
    return "-" if isnan(value) else f"{100 * value:.0f}%"
