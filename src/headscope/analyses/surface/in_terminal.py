"""Surface statistics as a terminal shows them: a row for each head."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.stage_result import StageResult
from headscope.reporting.kit.terminal import Grid
from headscope.statistics.roles import roles

_SHOWN = ("previous", "next", "current", "cls", "sep", "punctuation", "entropy", "max_weight")


def shown(result: StageResult) -> Iterator[Grid | str]:
    """Yield a row for each head: percent of attention, entropy in nats, and the role."""
    surface = result.tables["surface"]
    wide = surface[surface["head"].notna()].pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    rows = wide.reset_index().dropna(how="all", subset=list(wide.columns)).merge(roles(surface))
    several = surface["kind"].nunique() > 1
    shown = []
    for row in rows.to_dict("records"):
        label = f"{row['layer']}-{row['head']}"
        cells = [_cell(name, row.get(name, float("nan"))) for name in _SHOWN]
        shown.append([f"{row['kind']} {label}" if several else label, *cells, row["role"]])
    numbers = [({"max_weight": "largest"}.get(name, name), "right") for name in _SHOWN]
    yield Grid([("head", "left"), *numbers, ("role", "left")], shown)
    yield "percent of attention; entropy in nats; largest: mean over tokens of the largest weight"


def _cell(name: str, value: float) -> str:
    """Write nats with two digits, shares as percent, and what cannot occur as a dash."""
    if value != value:
        return "-"
    return f"{value:.2f}" if name == "entropy" else f"{100 * value:.1f}"
