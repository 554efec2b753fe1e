"""Statistics as a terminal shows them: a row for each head."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from headscope.analyses.stage_result import StageResult
from headscope.analyses.stats.by_norm import by_norm
from headscope.attention.head_id import head_label
from headscope.reporting.kit.terminal import Grid
from headscope.statistics.measures import of_measure
from headscope.statistics.roles import roles
from headscope.statistics.statistic_catalog import STATISTICS, Rows, Unit


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield a row for each head: every mean over all rows, in percent of attention or nats, and the role."""
    stats = of_measure(result.tables["stats"])
    written = {(one.kind, one.layer, one.head): one for one in by_norm(result.tables["stats"])}
    wide = stats[stats["head"].notna()].pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    rows = wide.reset_index().dropna(how="all", subset=list(wide.columns)).merge(roles(stats))
    several = stats["kind"].nunique() > 1
    occurring = set(stats["statistic"][stats["value"].notna()])
    columns = [
        one for one in STATISTICS.values() if one.rows is Rows.ALL and (one.name in occurring or not one.rare)
    ]
    shown = []
    for row in rows.to_dict("records"):
        label = head_label(row["layer"], row["head"])
        cells = [_cell(row.get(one.name, float("nan")), share=one.unit is Unit.SHARE) for one in columns]
        other = written.get((row["kind"], row["layer"], row["head"]))
        by_written = [other.written if other is not None and other.differs else "-"] if written else []
        shown.append([f"{row['kind']} {label}" if several else label, *cells, row["role"], *by_written])
    numbers = [(one.heading or one.name, "right") for one in columns]
    last = [("by norm", "left")] if written else []
    yield Grid([("head", "left"), *numbers, ("role", "left"), *last], shown)
    nats = [f"{one.heading or one.name} in nats" for one in columns if one.unit is Unit.NATS]
    told = [f"{one.heading or one.name}: {one.heading_says}" for one in columns if one.heading_says]
    norms = ["by norm: the role by what it writes, where that is another"] if written else []
    yield "; ".join(["percent of attention", *nats, *told, *norms])


def _cell(value: float, *, share: bool) -> str:
    """Write nats with two digits, shares as percent, and what cannot occur as a dash."""
    if isnan(value):
        return "-"
    return f"{100 * value:.1f}" if share else f"{value:.2f}"
