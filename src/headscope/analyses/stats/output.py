"""Statistics in a terminal, a row for each head, and the whole table in a file: CSV, JSON or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from headscope.analyses.stage_result import StageResult
from headscope.analyses.stats.norm_roles import roles_by_norm
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.counted import count
from headscope.declarations.option import choose
from headscope.report_kit.numbers import HYPHEN, table_number
from headscope.report_kit.tables.page_tables import Grid
from headscope.statistics.measures import of_measure
from headscope.statistics.roles import roles
from headscope.statistics.statistic import Rows, Unit
from headscope.statistics.statistic_catalog import INSTALLED, STATISTICS
from headscope.storage.files import check_file_place, write_parquet, write_text
from headscope.storage.lock import place_held

FORMATS = (".csv", ".json", ".parquet")


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
    titles = {
        statistic: statistic.heading or statistic.name
        for statistic in STATISTICS.values()
        if (statistic.rows is Rows.ALL or statistic.name in INSTALLED)
        and (statistic.name in occurring or not statistic.rare)
    }
    lines = []
    for row in rows.to_dict("records"):
        names = [statistic.name for statistic in titles]
        cells = [table_number(row.get(name, float("nan")), name, missing=HYPHEN) for name in names]
        line = [prefix[row["kind"]] + head_label(row["layer"], row["head"]), *cells, row["role"]]
        if by_norm:
            other = by_norm.get((row["kind"], row["layer"], row["head"]), row["role"])
            line.append("-" if other == row["role"] else other)
        lines.append(line)
    roles_shown = ("role", "by norm") if by_norm else ("role",)
    yield Grid(("head", *titles.values(), *roles_shown), lines, words=roles_shown)
    nats = [f"{title} in nats" for statistic, title in titles.items() if statistic.unit is Unit.NATS]
    explained = [f"{title}: {statistic.heading_says}" for statistic, title in titles.items() if statistic.heading_says]
    norms = ["by norm: the role by norm-weighted attention, where it differs"] if by_norm else []
    yield "; ".join(["percent of attention", *nats, *explained, *norms])


def check(out: Path) -> None:
    """Check the path of the table before the scan.

    Raises:
        OptionError: the path has another ending, is a folder, or is in a folder that does not exist.
    """
    choose("--out with the ending", out.suffix, FORMATS)
    check_file_place("--out", out)


def write(results: Mapping[str, StageResult], out: Path) -> list[str]:
    """Write the whole table; return a line for the terminal with its path and number of rows."""
    stats = results["stats"].tables["stats"]
    with place_held(out):
        if out.suffix == ".csv":
            write_text(out, stats.to_csv(index=False))
        elif out.suffix == ".json":
            write_text(out, stats.to_json(orient="records", indent=1, double_precision=15))
        else:
            write_parquet(out, stats)
    return [f"table: {out} ({count(len(stats), 'row')})"]
