"""Tables for a paper on any run: heads by role, and the mean attention of each layer's heads."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headscope.report_kit.kinds import Kind, kinds_of
from headscope.report_kit.tables.paper_columns import (
    count_column,
    interval_columns,
    number_column,
    percent_column,
    says_intervals,
    words_column,
)
from headscope.report_kit.words import Words, capital, words_for
from headscope.statistics.role_catalog import ROLES, SHOWN
from headscope.statistics.statistic_catalog import is_share
from headscope.study.paper_table import PaperColumn, PaperTable
from headscope.study.study import Study

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


def attention_by_layer(run: Study) -> PaperTable | None:
    """Return the mean statistics of each layer's heads; None where no text was measured."""
    if "stats" not in run.tables:
        return None
    words, kinds = words_for(run.manifest), kinds_of(run)
    shown = [name for name in _LAYER_STATISTICS if any(kind.occurs(name) for kind in kinds)]
    frame = pd.DataFrame(
        [
            {"kind": kind.name, "layer": kind.layer_name(layer), **_of_layer(kind, layer, shown)}
            for kind in kinds
            for layer in range(1, kind.layers + 1)
        ]
    )
    columns = (
        *((words_column("attention", "kind"),) if len(kinds) > 1 else ()),
        words_column("layer", "layer"),
        *(_column(name, words) for name in shown),
    )
    caption = (
        "Where the heads of each layer look, on average: shares of attention in percent, and entropy in "
        f"nats{says_intervals(frame)}."
    )
    return PaperTable("table-layers", caption, frame, columns)


def _role_rows(kind: Kind, words: Words) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    places = list(np.ndindex(kind.layers, kind.heads_per_layer))
    for name in SHOWN:
        statistic = ROLES[name].statistic
        heads = [(layer + 1, head + 1) for layer, head in places if kind.role(layer + 1, head + 1) == name]
        if not heads:
            continue
        share = bool(statistic) and is_share(statistic)
        strongest = max(heads, key=lambda head: kind.cell(statistic, *head).value) if share else None
        rows.append(
            {
                "kind": kind.name,
                "role": words.roles[name],
                "n_heads": len(heads),
                "head": None if strongest is None else kind.head_label(*strongest),
                **interval_columns("attention", None if strongest is None else kind.cell(statistic, *strongest)),
            }
        )
    return rows


def _of_layer(kind: Kind, layer: int, statistics: list[str]) -> dict[str, float]:
    return {
        name: value
        for statistic in statistics
        for name, value in interval_columns(statistic, kind.cell(statistic, layer)).items()
    }


def _column(name: str, words: Words) -> PaperColumn:
    title = capital(words.statistics[name])
    return percent_column(title, name) if is_share(name) else number_column(title, name)
