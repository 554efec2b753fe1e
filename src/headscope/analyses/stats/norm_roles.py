"""Claims on the roles of heads, by attention weights and norm-weighted (Kobayashi et al. 2020)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from typing import Any

import pandas as pd

from headscope.present.blocks import Row
from headscope.present.cells import records
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import MOST_LISTED, HeadRef, Shades, numbered, shades
from headscope.present.numbers import amount
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import capital, words_for
from headscope.statistics.inference.significance import LEAST_ENTROPY, LEAST_SHARE, apart
from headscope.statistics.roles import OTHERWISE, ROLES, SHOWN, roles
from headscope.statistics.statistic_catalog import is_share
from headscope.statistics.tables.frames import NORM, WEIGHT, of_measure

_HEAD = ["kind", "layer", "head"]
_ENDS = {"value": "", "ci_low": "_low", "ci_high": "_high"}


def roles_by_norm(stats: pd.DataFrame) -> pd.DataFrame:
    """Return both roles of every head whose norm-weighted attention is known, by layer and head.

    Args:
        stats: the table `stats.parquet`, with both measures.

    Returns:
        Columns `kind layer head`, `role` by weights and `role_by_norm`; `statistic`, which defines `role`, or else
        `role_by_norm`, empty where neither is defined by a statistic; and its value by `weight` and by `norm`, each
        with the ends of its interval, `weight_low`, `weight_high`, `norm_low` and `norm_high`.
    """
    by_norm = of_measure(stats, NORM)
    known = by_norm.loc[by_norm["head"].notna() & (by_norm["n_inputs"] > 0), _HEAD].drop_duplicates()
    both = roles(stats).merge(roles(stats, measure=NORM), on=_HEAD, suffixes=("", "_by_norm"))
    both = both.merge(known.astype({"layer": "int64", "head": "int64"}), on=_HEAD)
    names = zip(both["role"], both["role_by_norm"], strict=True)
    both["statistic"] = [ROLES[role].statistic or ROLES[role_by_norm].statistic for role, role_by_norm in names]
    for measure, (column, ending) in product((WEIGHT, NORM), _ENDS.items()):
        values = of_measure(stats, measure).set_index([*_HEAD, "statistic"])[column].to_dict()
        cells = both[[*_HEAD, "statistic"]].itertuples(index=False, name=None)
        both[f"{measure}{ending}"] = [float(values.get(cell, float("nan"))) for cell in cells]
    return both


def norm_roles(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the role of each head by norm-weighted attention, `role.norm`, where it is known, for `study.heads`."""
    table = read("stats")
    if table is None or of_measure(table, NORM).empty:
        return None
    both = roles_by_norm(table).set_index(_HEAD)
    return both[["role_by_norm"]].rename(columns={"role_by_norm": f"role.{NORM}"})


@dataclass(frozen=True, kw_only=True)
class Roles(Fact):
    """The number of heads with a role, the most frequent roles, and the heads with other roles."""

    heads: int
    roles: Sequence[tuple[str, int]]
    others: int
    topic = "roles"
    rank = 110


def roles_fact(kind: Kind) -> Fact:
    """Return the number of heads of one kind of attention with each role."""
    counts = Counter(role for role in kind.roles if role != OTHERWISE and role in SHOWN)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], SHOWN.index(item[0])))
    return Roles(
        kind=kind, heads=counts.total(), roles=ordered[:MOST_LISTED], others=sum(n for _, n in ordered[MOST_LISTED:]),
        figure=shades(role in counts for role in kind.roles) if counts else Shades(),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NormRoles(Fact):
    """The heads with another role by norm-weighted attention, and their most frequent change, from `before` to `after`.

    Attributes:
        of: number of heads with both roles.
        differ: number of those whose roles differ.
        changed: number of those whose statistic is shown to differ.
        heads: heads with the most frequent change, if there is one.
    """

    kind: Kind
    of: int
    differ: int
    changed: int
    before: str
    after: str
    heads: Sequence[HeadRef]
    topic = "roles"


def norm_facts(run: Study, kind: Kind) -> Iterator[Fact]:
    """Yield the heads with another role by norm-weighted attention; nothing where norms are not known."""
    rows = _rows(run, kind)
    differing = _differing(rows)
    changes: defaultdict[tuple[str, str], list[HeadRef]] = defaultdict(list)
    for row in differing:
        if _is_shown(row):
            changes[row["role"], row["role_by_norm"]].append(numbered(kind.name, row["layer"], row["head"]))
    (before, after), heads = max(changes.items(), key=lambda change: len(change[1]), default=(("", ""), ()))
    if rows:
        yield NormRoles(
            kind=kind, of=len(rows), differ=len(differing), changed=sum(map(len, changes.values())), before=before,
            after=after, heads=heads,
        )  # fmt: skip


def norms_known(about: Context) -> bool:
    """Return True if the run has norm-weighted attention."""
    table = about.run.tables.get("stats")
    return table is not None and not of_measure(table, NORM).empty


def norm_rows(about: Context) -> list[Row]:
    """Return the heads whose role differs by norm-weighted attention, with the statistic that defines it."""
    words = about.words
    return [
        {
            "head": capital(kind.head_name(row["layer"], row["head"])),
            "role": capital(words.roles[row["role"]]),
            "role_by_norm": capital(words.roles[row["role_by_norm"]]),
            "statistic": words.statistics[row["statistic"]],
            "weight": (row["weight"], row["statistic"]),
            "norm": (row["norm"], row["statistic"]),
        }
        for kind in about.kinds
        for row in _differing(_rows(about.run, kind))
    ]


def card_lines(run: Study, kind: Kind) -> list[str | None] | None:
    """Return a line for each head's card, in head order; None where the norms of the kind are not known."""
    rows, words = _rows(run, kind), words_for(run.manifest)
    lines: list[str | None] = [None] * kind.size
    for row in rows:
        role = ", no role dominates" if row["role_by_norm"] == OTHERWISE else f": {words.roles[row['role_by_norm']]}"
        line = f"Weighted by the size of its output{role}"
        if name := row["statistic"]:
            by_norm, by_weight = amount(row["norm"], name), amount(row["weight"], name)
            line += f"; {words.statistics[name]} {by_norm}, by weights {by_weight}"
        lines[kind.head_index(row["layer"], row["head"])] = f"{line}."
    return lines if rows else None


def _rows(run: Study, kind: Kind) -> list[dict[str, Any]]:
    table = run.tables.get("stats")
    return [] if table is None else records(roles_by_norm(table[table["kind"] == kind.name]))


def _differing(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["role"] != row["role_by_norm"]]


def _is_shown(row: dict[str, Any]) -> bool:
    """Return True if the statistic of a role is shown to differ between the measures, or has no interval."""
    (weight, weight_low, weight_high), (norm, norm_low, norm_high) = (
        [row[f"{measure}{end}"] for end in _ENDS.values()] for measure in (WEIGHT, NORM)
    )
    least = LEAST_SHARE if is_share(row["statistic"]) else LEAST_ENTROPY
    return (
        isnan(weight_low)
        or isnan(norm_low)
        or apart(weight, weight_low, norm, norm_high, least=least)
        or apart(norm, norm_low, weight, weight_high, least=least)
    )
