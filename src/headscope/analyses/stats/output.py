"""Statistics as text: a row for each head in a terminal, the whole table in a file, and tables for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from headscope.analyses.measurement import StageResult
from headscope.analyses.stats.norm_roles import roles_by_norm
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.present.kinds import Kind, kinds_of
from headscope.present.numbers import (
    HYPHEN,
    count_column,
    interval_columns,
    number_column,
    percent_column,
    says_intervals,
    table_number,
    words_column,
)
from headscope.present.page_tables import Grid
from headscope.present.paper_table import PaperTable
from headscope.present.study import Study
from headscope.present.words import Words, capital, words_for
from headscope.scans.declarations.option import choose
from headscope.statistics.roles import ROLES, SHOWN, roles
from headscope.statistics.statistic import Rows, Unit
from headscope.statistics.statistic_catalog import INSTALLED, STATISTICS, is_share
from headscope.statistics.tables.frames import of_measure
from headscope.storage.files import check_file_place, write_parquet, write_text
from headscope.storage.lock import place_held
from headscope.visible import count

FORMATS = (".csv", ".json", ".parquet")


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield a row for each head: means over all rows and installed statistics, in percent or nats, and the role."""
    stats = of_measure(result.tables["stats"])
    by_norm = roles_by_norm(result.tables["stats"]).set_index(["kind", "layer", "head"])["role_by_norm"].to_dict()
    wide = stats[stats["head"].notna()].pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    rows = wide.reset_index().dropna(how="all", subset=list(wide.columns)).merge(roles(stats))
    columns = ("role", "by norm") if by_norm else ("role",)
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
        other = by_norm.get((row["kind"], row["layer"], row["head"]), row["role"])
        shown = (row["role"], "-" if other == row["role"] else other)
        lines.append([prefix[row["kind"]] + head_label(row["layer"], row["head"]), *cells, *shown[: len(columns)]])
    yield Grid(("head", *titles.values(), *columns), lines, words=columns)
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


_LAYER_STATISTICS = ("previous", "next", "cls", "sep", "punctuation", "entropy")


def heads_by_role(run: Study) -> PaperTable | None:
    """Return the number of heads of each role, with the strongest head; None where no text was measured."""
    if "stats" not in run.tables:
        return None
    words, kinds = words_for(run.manifest), kinds_of(run)
    frame = pd.DataFrame([row for kind in kinds for row in _role_rows(kind, words)])
    columns = (
        *((words_column("attention", "kind"),) if len(kinds) > 1 else ()),
        words_column("role", "role"),
        count_column("heads", "n_heads"),
        words_column("strongest", "head"),
        percent_column("its attention", "attention"),
    )
    caption = (
        "Heads by role: the first whose share of attention, or entropy, lies above its threshold. Attention of the "
        f"strongest head on what the role names, in percent{says_intervals(frame)}."
    )
    return PaperTable("table-heads", caption, frame, columns)


def _role_rows(kind: Kind, words: Words) -> Iterator[dict[str, object]]:
    heads = [(layer + 1, head + 1) for layer, head in np.ndindex(kind.layers, kind.heads_per_layer)]
    for name in SHOWN:
        with_role = [head for head, role in zip(heads, kind.roles, strict=True) if role == name]
        if not with_role:
            continue
        label, cell, statistic = None, None, ROLES[name].statistic
        if statistic and is_share(statistic):
            strongest = max(with_role, key=lambda head: kind.cell(statistic, *head).value)
            label, cell = kind.head_label(*strongest), kind.cell(statistic, *strongest)
        yield {
            "kind": kind.name,
            "role": words.roles[name],
            "n_heads": len(with_role),
            "head": label,
            **interval_columns("attention", cell),
        }


def attention_by_layer(run: Study) -> PaperTable | None:
    """Return the mean statistics of each layer's heads; None where no text was measured."""
    if "stats" not in run.tables:
        return None
    words, kinds = words_for(run.manifest), kinds_of(run)
    shown = [name for name in _LAYER_STATISTICS if any(kind.occurs(name) for kind in kinds)]
    frame = pd.DataFrame(_layer_row(kind, layer, shown) for kind in kinds for layer in range(1, kind.layers + 1))
    titles = {name: capital(words.statistics[name]) for name in shown}
    columns = (
        *((words_column("attention", "kind"),) if len(kinds) > 1 else ()),
        words_column("layer", "layer"),
        *((percent_column if is_share(name) else number_column)(title, name) for name, title in titles.items()),
    )
    caption = (
        "Where the heads of each layer look, on average: shares of attention in percent, and entropy in "
        f"nats{says_intervals(frame)}."
    )
    return PaperTable("table-layers", caption, frame, columns)


def _layer_row(kind: Kind, layer: int, statistics: Sequence[str]) -> dict[str, object]:
    row: dict[str, object] = {"kind": kind.name, "layer": kind.layer_name(layer)}
    for name in statistics:
        row |= interval_columns(name, kind.cell(name, layer))
    return row
