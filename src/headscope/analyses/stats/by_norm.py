"""Findings, table and card lines on heads whose role by norm-weighted attention differs from that by weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.stats.norm_roles import roles_by_norm
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, continued, listed, numbered, sentence
from headscope.report_kit.numbers import amount, table_number
from headscope.report_kit.tables.cells import records
from headscope.report_kit.tables.page_rows import Table, unit
from headscope.report_kit.words import Words, capital, count
from headscope.statistics.inference.worth_saying import LEAST_ENTROPY, LEAST_SHARE, apart
from headscope.statistics.measures import NORM, WEIGHT
from headscope.statistics.role_catalog import OTHERWISE
from headscope.statistics.statistic_catalog import is_share
from headscope.study.study import Study

UNKNOWN = (
    "What heads write in these places is not known here (saved maps hold no values, or no linear map takes the "
    "attention’s output as it is), so their roles are by weights alone."
)


def norm_finding(run: Study, kind: Kind, words: Words) -> Iterator[Sentence]:
    """Yield findings on heads with another role by norm-weighted attention; none where norms are not known."""
    rows = _of(run, kind)
    changed = _changed(rows)
    if changed.empty:
        if len(rows):
            same = f"all {len(rows):,} {kind.noun}s have the same role in norm-weighted attention."
            yield sentence("roles", same)
        return
    changed = changed[[_is_shown(row) for row in records(changed)]]
    if changed.empty:
        yield sentence("roles", f"no {kind.noun} is shown to have another role in norm-weighted attention.")
        return
    verb = "has" if len(changed) == 1 else "have"
    whole = f"{len(changed):,} of {count(len(rows), kind.noun)}"
    yield sentence("roles", f"{whole} {verb} another role in norm-weighted attention.")
    # Only the most frequent change is named.
    changes = Counter(zip(changed["role"], changed["role_by_norm"], strict=True))
    (before, after), most = changes.most_common(1)[0]
    heads = changed[(changed["role"] == before) & (changed["role_by_norm"] == after)]
    often = "" if most == len(changed) else "most often "
    roles_changed = f"the role changes from {words.roles[before]} to {words.roles[after]}"
    text = f"{often}{roles_changed}, in {count(most, kind.noun)}: "
    refs = (numbered(kind.name, row["layer"], row["head"]) for row in records(heads))
    yield continued("roles", text, *listed(refs), ".")


def norm_table(run: Study, kinds: tuple[Kind, ...], words: Words) -> Table | None:
    """Tabulate the heads whose role differs by norm-weighted attention; None if no role differs."""
    rows = [
        (
            capital(kind.head_name(row["layer"], row["head"])),
            capital(words.roles[row["role"]]),
            capital(words.roles[row["role_by_norm"]]),
            f"{words.statistics[row['statistic']]}, {unit(row['statistic'])}",
            table_number(row["weight"], row["statistic"]),
            table_number(row["norm"], row["statistic"]),
        )
        for kind in kinds
        for row in records(_changed(_of(run, kind)))
    ]
    if not rows:
        return None
    return Table(
        summary=f"Table: {count(len(rows), 'head')} with another role in norm-weighted attention",
        groups=(("", 1), ("role", 2), ("what tells it", 3)),
        header=("head", "by weights", "norm-weighted", "of", "by weights", "norm-weighted"),
        rows=tuple(rows),
        name="table-roles-written",
        words=(1, 2, 3),
    )


def norm_on_cards(run: Study, kind: Kind, words: Words) -> list[str | None] | None:
    """Return a line for each head's card, in head order; None where the norms of the kind are not known."""
    rows = _of(run, kind)
    if rows.empty:
        return None
    lines: list[str | None] = [None] * kind.size
    for row in records(rows):
        if row["role_by_norm"] == OTHERWISE:
            line = "Weighted by the size of its output, no role dominates"
        else:
            line = f"Weighted by the size of its output: {words.roles[row['role_by_norm']]}"
        if row["statistic"]:
            line += (
                f"; {words.statistics[row['statistic']]} {amount(row['norm'], row['statistic'])}, by weights "
                f"{amount(row['weight'], row['statistic'])}"
            )
        lines[kind.head_index(row["layer"], row["head"])] = f"{line}."
    return lines


def _of(run: Study, kind: Kind) -> pd.DataFrame:
    table = run.tables.get("stats")
    return pd.DataFrame() if table is None else roles_by_norm(table[table["kind"] == kind.name])


def _is_shown(row: dict[str, Any]) -> bool:
    """Return True if the statistic of a role is shown to differ between the measures, or has no interval."""
    weight, norm = ([row[f"{measure}{end}"] for end in ("", "_low", "_high")] for measure in (WEIGHT, NORM))
    if isnan(weight[1]) or isnan(norm[1]):
        return True
    least = LEAST_SHARE if is_share(row["statistic"]) else LEAST_ENTROPY
    return any(
        apart(value, low, other, other_high, least=least)
        for (value, low, _), (other, _, other_high) in ((weight, norm), (norm, weight))
    )


def _changed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the heads whose two roles differ."""
    return rows[rows["role"] != rows["role_by_norm"]] if len(rows) else rows
