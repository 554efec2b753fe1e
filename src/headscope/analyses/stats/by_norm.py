"""What becomes of every head's role where what it writes stands in place of where it looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.numbers import amount, table_number
from headscope.reporting.kit.page_rows import Table, unit
from headscope.reporting.kit.words import Words, capital, count, head_name
from headscope.statistics.measures import NORM, WEIGHT, of_measure
from headscope.statistics.role_catalog import ROLES
from headscope.statistics.roles import roles

UNKNOWN = (
    "What heads write in these places is not known here (saved maps hold no values, or no linear map takes the "
    "attention’s output as it is), so their roles are by weights alone."
)
_HEAD = ["kind", "layer", "head"]


@dataclass(frozen=True)
class ByNorm:
    """One head's role by its weights and by what it writes.

    Attributes:
        kind, layer, head: whose; layer and head from 1.
        role: by weights.
        written: the role by what is written.
        statistic: that tells the first of the two which one tells.
        weight: its value of the weights.
        norm: the same of what is written.
    """

    kind: str
    layer: int
    head: int
    role: str
    written: str
    statistic: str
    weight: float
    norm: float

    @property
    def differs(self) -> bool:
        """Whether the two are not the same."""
        return self.role != self.written


def by_norm(stats: pd.DataFrame) -> list[ByNorm]:
    """Return every head of which it is known what it writes, by layer and head.

    Args:
        stats: the table `stats.parquet`, of both measures.
    """
    written = of_measure(stats, NORM)
    known = written[written["head"].notna() & (written["n"] > 0)]
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
        weight, norm = (
            float(values[measure].get((*head, statistic), float("nan"))) for measure in (WEIGHT, NORM)
        )
        yield ByNorm(*head, row["role"], row["role_written"], statistic, weight, norm)


def norm_finding(run: Measured, kind: Kind, words: Words, *, several: bool) -> list[Sentence]:
    """Say which heads have another role by what they write; nothing where that is not known."""
    own = _of(run, kind)
    if not own:
        return []
    others = [one for one in own if one.differs]
    whose = f"{kind.name} heads" if several else "heads"
    if not others:
        return [sentence("roles", f"by what they write, too, all {len(own):,} {whose} have the same role.")]
    # The commonest change first.
    changes: dict[tuple[str, str], list[ByNorm]] = {}
    for one in others:
        changes.setdefault((one.role, one.written), []).append(one)
    (before, after), most = max(changes.items(), key=lambda item: len(item[1]))
    verb = "has" if len(others) == 1 else "have"
    so = "so it is with" if len(most) == len(others) else f"most often, in {len(most):,} of them, with"
    return [
        sentence(
            "roles",
            f"by what they write (each weight times the length of what is written of its token) {len(others):,} of "
            f"{count(len(own), whose[:-1])} {verb} another role; from {words.roles[before]} to {words.roles[after]} "
            f"{so} ",
            *listed(numbered(one.kind, one.layer, one.head) for one in most),
            ".",
        )
    ]


def norm_table(run: Measured, kinds: tuple[Kind, ...], words: Words, *, several: bool) -> Table | None:
    """Tabulate the heads whose role is another by what they write; None where there is none."""
    rows = [
        (
            capital(head_name(one.kind, one.layer, one.head, several=several)),
            capital(words.roles[one.role]),
            capital(words.roles[one.written]),
            f"{words.statistics[one.statistic]}, {unit(one.statistic)}",
            table_number(one.weight, one.statistic),
            table_number(one.norm, one.statistic),
        )
        for kind in kinds
        for one in _of(run, kind)
        if one.differs
    ]
    if not rows:
        return None
    return Table(
        summary=f"Table: {count(len(rows), 'head')} with another role by what is written",
        groups=(("", 1), ("role", 2), ("what tells it", 3)),
        header=("head", "by weights", "by what is written", "of", "by weights", "by what is written"),
        rows=tuple(rows),
        name="table-roles-written",
        words=(1, 2, 3),
    )


def norm_on_cards(run: Measured, kind: Kind, words: Words) -> list[str | None] | None:
    """Return a line for each head's card, in head order; None where nothing is known of the kind."""
    own = _of(run, kind)
    if not own:
        return None
    lines: list[str | None] = [None] * kind.size
    for one in own:
        line = f"By what it writes: {words.roles[one.written]}"
        if one.statistic:
            line += (
                f"; {words.statistics[one.statistic]} {amount(one.norm, one.statistic)}, by weights "
                f"{amount(one.weight, one.statistic)}"
            )
        lines[kind.head_index(one.layer, one.head)] = f"{line}."
    return lines


def _of(run: Measured, kind: Kind) -> list[ByNorm]:
    table = run.table("stats")
    return [] if table is None else by_norm(table[table["kind"] == kind.name])
