"""Statistics in a terminal: a row for each head."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.stage_result import StageResult
from headscope.analyses.stats.norm_roles import roles_by_norm
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.numbers import HYPHEN, table_number
from headscope.report_kit.tables.terminal import Grid
from headscope.statistics.measures import of_measure
from headscope.statistics.roles import roles
from headscope.statistics.statistic import Rows, Unit
from headscope.statistics.statistic_catalog import INSTALLED, STATISTICS


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield a row for each head: means over all rows and installed statistics, in percent or nats, and the role."""
    stats = of_measure(result.tables["stats"])
    by_norm = roles_by_norm(result.tables["stats"]).set_index(["kind", "layer", "head"])["role_by_norm"].to_dict()
    wide = stats[stats["head"].notna()].pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    rows = wide.reset_index().dropna(how="all", subset=list(wide.columns)).merge(roles(stats))
    prefix = kind_prefixes(stats["kind"])
    occurring = set(stats["statistic"][stats["value"].notna()])
    columns = [
        statistic
        for statistic in STATISTICS.values()
        if (statistic.rows is Rows.ALL or statistic.name in INSTALLED)
        and (statistic.name in occurring or not statistic.rare)
    ]
    lines = []
    for row in rows.to_dict("records"):
        label = prefix[row["kind"]] + head_label(row["layer"], row["head"])
        cells = [
            table_number(row.get(statistic.name, float("nan")), statistic.name, missing=HYPHEN) for statistic in columns
        ]
        role_by_norm = by_norm.get((row["kind"], row["layer"], row["head"]), row["role"])
        other_role = "-" if role_by_norm == row["role"] else role_by_norm
        lines.append([label, *cells, row["role"], *([other_role] if by_norm else [])])
    titles = {statistic: statistic.heading or statistic.name for statistic in columns}
    roles_shown = ("role", "by norm") if by_norm else ("role",)
    yield Grid(("head", *titles.values(), *roles_shown), lines, words=roles_shown)
    nats = [f"{title} in nats" for statistic, title in titles.items() if statistic.unit is Unit.NATS]
    explained = [f"{title}: {statistic.heading_says}" for statistic, title in titles.items() if statistic.heading_says]
    norms = ["by norm: the role by what it writes, where that is another"] if by_norm else []
    yield "; ".join(["percent of attention", *nats, *explained, *norms])
