"""Heads' roles by norm-weighted attention (Kobayashi et al. 2020), beside their roles by attention weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, continued, listed, numbered, sentence
from headscope.report_kit.numbers import amount, table_number
from headscope.report_kit.tables.page_rows import Table, unit
from headscope.report_kit.words import Words, capital, count
from headscope.statistics.measures import NORM, WEIGHT, of_measure
from headscope.statistics.role_catalog import ROLES
from headscope.statistics.roles import roles
from headscope.study.study import Study

UNKNOWN = (
    "What heads write in these places is not known here (saved maps hold no values, or no linear map takes the "
    "attention’s output as it is), so their roles are by weights alone."
)
_HEAD = ["kind", "layer", "head"]


@dataclass(frozen=True)
class ByNorm:
    """One head's role by attention weights and by norm-weighted attention.

    Attributes:
        kind, layer, head: of the head; layer and head from 1.
        role: by attention weights.
        role_by_norm: the role by norm-weighted attention.
        statistic: that `role` rests on, or else `role_by_norm`; empty where neither rests on one.
        weight: the statistic of the attention weights.
        norm: the statistic of norm-weighted attention.
    """

    kind: str
    layer: int
    head: int
    role: str
    role_by_norm: str
    statistic: str
    weight: float
    norm: float

    @property
    def differs(self) -> bool:
        """Whether the two roles differ."""
        return self.role != self.role_by_norm


def by_norm(stats: pd.DataFrame) -> list[ByNorm]:
    """Return the roles of every head whose norm-weighted attention is known, by layer and head.

    Args:
        stats: the table `stats.parquet`, of both measures.
    """
    stats_by_norm = of_measure(stats, NORM)
    known = stats_by_norm[stats_by_norm["head"].notna() & (stats_by_norm["n_inputs"] > 0)]
    if known.empty:
        return []
    heads = {tuple(head) for head in known[_HEAD].itertuples(index=False)}
    values = {
        measure: of_measure(stats, measure).set_index([*_HEAD, "statistic"])["value"].to_dict()
        for measure in (WEIGHT, NORM)
    }
    both = roles(stats).merge(roles(stats, measure=NORM), on=_HEAD, suffixes=("", "_written"))
    return [row for row in _rows(both, values) if (row.kind, row.layer, row.head) in heads]


def _rows(both: pd.DataFrame, values: Mapping[str, Mapping[Any, float]]) -> Iterator[ByNorm]:
    for row in both.to_dict("records"):
        head = (row["kind"], int(row["layer"]), int(row["head"]))
        statistic = ROLES[row["role"]].statistic or ROLES[row["role_written"]].statistic
        weight, norm = (float(values[measure].get((*head, statistic), float("nan"))) for measure in (WEIGHT, NORM))
        yield ByNorm(*head, row["role"], row["role_written"], statistic, weight, norm)


def norm_finding(run: Study, kind: Kind, words: Words) -> Iterator[Sentence]:
    """Say which heads have another role by norm-weighted attention; nothing where that is not known."""
    rows = _of(run, kind)
    changed = [row for row in rows if row.differs]
    if rows and not changed:
        same = f"all {len(rows):,} {kind.noun}s have the same role in norm-weighted attention."
        yield sentence("roles", same)
    if not changed:
        return
    verb = "has" if len(changed) == 1 else "have"
    whole = f"{len(changed):,} of {count(len(rows), kind.noun)}"
    yield sentence("roles", f"{whole} {verb} another role in norm-weighted attention.")
    # The most frequent change is named.
    changes = Counter((row.role, row.role_by_norm) for row in changed)
    (before, after), most = changes.most_common(1)[0]
    heads = [row for row in changed if (row.role, row.role_by_norm) == (before, after)]
    often = "" if most == len(changed) else "most often "
    roles_changed = f"the role changes from {words.roles[before]} to {words.roles[after]}"
    text = f"{often}{roles_changed}, in {count(most, kind.noun)}: "
    refs = (numbered(row.kind, row.layer, row.head) for row in heads)
    yield continued("roles", text, *listed(refs), ".")


def norm_table(run: Study, kinds: tuple[Kind, ...], words: Words) -> Table | None:
    """Tabulate the heads whose role differs by norm-weighted attention; None where there is none."""
    rows = [
        (
            capital(kind.head_name(row.layer, row.head)),
            capital(words.roles[row.role]),
            capital(words.roles[row.role_by_norm]),
            f"{words.statistics[row.statistic]}, {unit(row.statistic)}",
            table_number(row.weight, row.statistic),
            table_number(row.norm, row.statistic),
        )
        for kind in kinds
        for row in _of(run, kind)
        if row.differs
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
    """Return a line for each head's card, in head order; None where nothing is known of the kind."""
    rows = _of(run, kind)
    if not rows:
        return None
    lines: list[str | None] = [None] * kind.size
    for row in rows:
        line = f"By what it writes: {words.roles[row.role_by_norm]}"
        if row.statistic:
            line += (
                f"; {words.statistics[row.statistic]} {amount(row.norm, row.statistic)}, by weights "
                f"{amount(row.weight, row.statistic)}"
            )
        lines[kind.head_index(row.layer, row.head)] = f"{line}."
    return lines


def _of(run: Study, kind: Kind) -> list[ByNorm]:
    table = run.tables.get("stats")
    return [] if table is None else by_norm(table[table["kind"] == kind.name])
