"""Tables of behaviors in the page, in text or in experiments."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import pandas as pd

from headscope.analyses.behaviors.catalog import Behavior
from headscope.analyses.behaviors.chosen import BehaviorHead, heads_of
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import DASH, ends, formatted, joined, percent, share
from headscope.report_kit.tables.page_parts import numbered, page_table, scrolled
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import capital, count
from headscope.statistics.measures import MEASURES
from headscope.views.markup import Html, el

COLUMNS = (
    *("behavior", "head", "of its attention", "uniform", "random weights"),
    *("all documents", "held out", "heads", "rows"),
)
TOKENS_COLUMN = "of the tokens"
"""The title of the third column where the behaviors count tokens."""
NORM_COLUMN = "of what it writes"


def best_heads(chosen: Sequence[BehaviorHead], kind: Kind, *, name: str, where: str) -> Html:
    """Tabulate the head chosen for each behavior with its baselines.

    Args:
        chosen: chosen heads of one kind of attention.
        kind: kind of attention of the heads.
        name: id of the table.
        where: text or experiment, in words, such as `in text`.
    """
    by_norm = any(head.by_norm is not None for head in chosen)
    of = TOKENS_COLUMN if all(head.behavior.counts_tokens for head in chosen) else COLUMNS[2]
    titles = [*COLUMNS[:2], of, *([NORM_COLUMN] if by_norm else []), *COLUMNS[3:]]
    rows = [_row(head, kind, by_norm=by_norm) for head in chosen]
    table = page_table(titles, {"": rows}, name=name, class_="relations")
    return scrolled(table, f"The {kind.prefix}head chosen for each behavior {where}")


def _row(chosen: BehaviorHead, kind: Kind, *, by_norm: bool) -> Html:
    often = "on all documents" if isnan(chosen.share) else f"in {percent(chosen.share, 0)} of splits"
    control = chosen.control
    spread = joined(control.lowest, control.highest) if control and control.seeds > 1 else ""
    over = f"{len(chosen.heads):,} of {chosen.n_heads:,}" if chosen.tested else "not tested"
    norm = (DASH, "") if chosen.by_norm is None else (share(chosen.by_norm.value), ends(chosen.by_norm))
    cells = (
        (kind.head_link(chosen.layer, chosen.head), f"selected {often}"),
        (share(chosen.estimate.value), ends(chosen.estimate)),
        *([norm] if by_norm else []),
        (share(chosen.estimate.uniform), ""),
        (share(control.mean) if control else DASH, spread),
        (share(chosen.all_documents.value), ends(chosen.all_documents)),
        (share(chosen.held_out.value), ends(chosen.held_out)),
        (over, ""),
        (f"{chosen.estimate.n:,}", ""),
    )
    name = el("th", capital(chosen.behavior.name), el("small", chosen.behavior.label), scope="row")
    return el("tr", name, [numbered(value, below) for value, below in cells])


CAPTION = (
    "Percent of attention (for retrieval: of tokens), its 95% interval below. The head is cross-fitted: the one that "
    "halves of the documents select most often, on documents that did not select it. “Heads” and “rows” count those "
    "that show the behavior, and those in which it can occur."
)
NORM_CAPTION = (
    "Of what it writes: norm-weighted. A head may look where it writes nothing; what it shows is decided by where it "
    "looks."
)


def norm_disagreements(heads: pd.DataFrame, kind: Kind, chosen: Sequence[BehaviorHead], *, name: str) -> Table | None:
    """Tabulate the heads that show a behavior by weight but not by norm-weighted attention; None for no such head.

    Args:
        heads: table of all heads, with the column `model`.
        kind: kind of attention.
        chosen: chosen heads of that kind.
        name: id of the table.
    """
    keys = ["behavior", "layer", "head"]
    values = [heads_of(heads, kind.name, measure).set_index(keys)["value"] for measure in MEASURES]
    rows = [
        (
            capital(kind.head_name(layer, head)),
            capital(chosen_head.behavior.label),
            *(share(float(value[chosen_head.behavior.name, layer, head])) for value in values),
        )
        for chosen_head in chosen
        for layer, head in chosen_head.not_by_norm
    ]
    if not rows:
        return None
    return Table(
        summary=f"Table: {count(len(rows), 'behavior')} seen in attention weights but not in norm-weighted attention",
        header=("head", "shows", f"{COLUMNS[2]}, %", f"{NORM_COLUMN}, %"),
        rows=tuple(rows),
        name=name,
        words=(1,),
    )


def every_head(heads: pd.DataFrame, kind: Kind, behaviors: Sequence[Behavior], *, name: str) -> Table:
    """Tabulate every head's behaviors, in percent of attention, or tokens.

    Args:
        heads: table of all heads, with the column `model`.
        kind: kind of attention.
        behaviors: behaviors to tabulate; those that cannot occur are left out.
        name: id of the table.
    """
    rows_of_kind = heads_of(heads, kind.name)
    rows_of_kind = rows_of_kind[rows_of_kind["n_rows"] > 0]
    known = set(rows_of_kind["behavior"])
    present = [behavior for behavior in behaviors if behavior.name in known]
    wide = rows_of_kind.pivot(index=["layer", "head"], columns="behavior", values="value")
    rows = [
        (capital(kind.head_name(layer, head)), *(_number(values[behavior.name], behavior) for behavior in present))
        for (layer, head), values in zip(wide.index, wide.to_dict("records"), strict=True)
    ]
    shares = wide[[behavior.name for behavior in present if behavior.unit != "tokens"]]
    return Table(
        summary=f"Table: every head{kind.in_brackets}, behavior by behavior",
        header=(
            "head",
            *(f"{behavior.label}, {'tokens' if behavior.unit == 'tokens' else '%'}" for behavior in present),
        ),
        rows=tuple(rows),
        name=name,
        matters=tuple(shares.max(axis=1).astype(float)),
        first="the largest share first",
    )


def _number(value: float, behavior: Behavior) -> str:
    return formatted(value, ".1f") if behavior.unit == "tokens" else share(value)
