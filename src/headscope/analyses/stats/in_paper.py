"""Tables for a paper on any run: heads by role, and the mean attention of each layer's heads."""

from __future__ import annotations

import pandas as pd

from headscope.report_kit.kinds import Kind, kinds_of
from headscope.report_kit.numbers import (
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
from headscope.study.paper_table import PaperTable
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


def _role_rows(kind: Kind, words: Words) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in SHOWN:
        heads = [divmod(index, kind.heads_per_layer) for index, role in enumerate(kind.roles) if role == name]
        if not heads:
            continue
        statistic, strongest, cell = ROLES[name].statistic, None, None
        if statistic and is_share(statistic):
            cells = {(layer + 1, head + 1): kind.cell(statistic, layer + 1, head + 1) for layer, head in heads}
            strongest, cell = max(cells.items(), key=lambda item: item[1].value)
        rows.append(
            {
                "kind": kind.name,
                "role": words.roles[name],
                "n_heads": len(heads),
                "head": None if strongest is None else kind.head_label(*strongest),
                **interval_columns("attention", cell),
            }
        )
    return rows


def attention_by_layer(run: Study) -> PaperTable | None:
    """Return the mean statistics of each layer's heads; None where no text was measured."""
    if "stats" not in run.tables:
        return None
    words, kinds = words_for(run.manifest), kinds_of(run)
    shown = [name for name in _LAYER_STATISTICS if any(kind.occurs(name) for kind in kinds)]
    rows: list[dict[str, object]] = []
    for kind in kinds:
        for layer in range(1, kind.layers + 1):
            rows.append({"kind": kind.name, "layer": kind.layer_name(layer)})
            for name in shown:
                rows[-1] |= interval_columns(name, kind.cell(name, layer))
    frame = pd.DataFrame(rows)
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
