"""The sources of each head off the sink, named, with their shares: what the page's sentences, tables and arcs show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.analyses.why.parts import NAMES
from headscope.present.cells import Cell, cell_of, records
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study

LEAST_SHARE = 0.1
"""Smallest share of the pull with which a source or a pair of sources is listed."""


@dataclass(frozen=True)
class Drawing:
    """A source of a head on one side.

    Attributes:
        side: `query` or `key`.
        label: name of the source: `1-1`, `MLP 1`, `token embedding`.
        part: kind of source, as in the table.
        head: the source, if it is a head.
        share: its share of the pull.
        established: True if the share is above that of random weights; None where it was not tested.
        moved: attention moved by its replacement; a missing cell if it was not replaced.
        moved_less: True if the replacement of another source on its side moves more.
    """

    side: str
    label: str
    part: str
    head: HeadRef | None
    share: Cell
    established: bool | None
    moved: Cell
    moved_less: bool


def drawings(about: Context, kind: Kind) -> dict[tuple[int, int], list[Drawing]]:
    """Return the sources of each head of a kind off the sink, by (layer, head) from 1, the largest share first."""
    table = off_sink(about.run)
    if table is None:
        return {}
    rows = table[table["kind"] == kind.name]
    heads: dict[tuple[int, int], list[Drawing]] = {}
    for row in records(rows):
        heads.setdefault((int(row["layer"]), int(row["head"])), []).append(_drawing(about, row))
    return dict(sorted(heads.items()))


@once_a_study
def off_sink(run: Study) -> pd.DataFrame | None:
    """Return the rows of sources off the sink, for each head the largest shares first."""
    table = run.tables.get("sources")
    if table is None or table.empty:
        return None
    rows = table[table["keys"] == "non_sink"]
    return rows.sort_values("share", key=lambda share: share.abs(), ascending=False, kind="stable")


def _drawing(about: Context, row: dict[str, Any]) -> Drawing:
    source = None
    if row["source_part"] == "head":
        source = _kind(about, row["source_kind"]).labeled_head(row["source_layer"], row["source_head"])
    return Drawing(
        side=row["side"],
        label=source_label(about, row, "source_"),
        part=row["source_part"],
        head=source,
        share=cell_of(row, "share"),
        established=None if pd.isna(row["established"]) else bool(row["established"]),
        moved=cell_of(row, "moved", prefix="moved_ci"),
        moved_less=not pd.isna(row["moved_less"]) and bool(row["moved_less"]),
    )


def _kind(about: Context, name: str) -> Kind:
    return next(kind for kind in about.kinds if kind.name == name)


def source_label(about: Context, row: dict[str, Any], prefix: str) -> str:
    """Return the name of a source: `1-1`, `MLP 1`, `token embedding`."""
    part = row[f"{prefix}part"]
    if part == "head":
        return _kind(about, row[f"{prefix}kind"]).head_label(row[f"{prefix}layer"], row[f"{prefix}head"])
    if part == "mlp":
        layer = row[f"{prefix}layer"]
        return "before layer 1" if pd.isna(layer) else f"MLP {int(layer)}"
    return NAMES[part]
