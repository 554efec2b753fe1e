"""The maps, the tree and the tables of the page, and the distances on the cards of the atlas."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from math import isnan, nan
from typing import Any

import matplotlib.figure
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.clusters import STABLE
from headscope.analyses.distances.dendrogram import dendrogram
from headscope.analyses.distances.head_map import COLORINGS, head_map, map_panel
from headscope.analyses.distances.tables import heads_of_pair, matrix_of, nearest_pairs
from headscope.attention.head_id import head_label
from headscope.present.blocks import Row
from headscope.present.cells import cell_of, records
from headscope.present.drawing import placed
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import numbered
from headscope.present.numbers import DASH
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.present.words import capital, layer_list, plain
from headscope.views.markup import Html, el

MOST_PAIRS, MOST_HEADS, MOST_LISTED = 10, 500, 14
"""Maximum number of pairs and heads in the tables, and of heads in a row for a cluster."""
MOST_IN_TREE = 200
"""A larger tree would dominate the page; it is drawn for a paper alone."""


def is_measured(about: Context) -> bool:
    """Return True if the run has distances and their map."""
    return {"head_distances", "head_map", "head_clusters", "layer_effect"} <= set(about.run.tables)


def of_kind(about: Context, table: str, kind: Kind) -> pd.DataFrame:
    """Return the rows of a table of heads, clusters or effects of a kind."""
    rows = about.run.tables[table]
    return rows[rows["kind"] == kind.name].reset_index(drop=True)


def stress(about: Context, kind: Kind) -> float | None:
    """Return the stress of the map of a kind (0 is exact); None where it was not measured."""
    value = next(iter(of_kind(about, "layer_effect", kind)["stress"]), nan)
    return None if isnan(value) else value


def _figure(
    name: str,
    draw: Callable[..., matplotlib.figure.Figure],
    more: Callable[[Context, Kind], dict[str, Any]] = lambda about, kind: {},
) -> Figure:
    """Return a figure with a file for each kind, drawn from its heads on the map and `more`."""

    def drawings(about: Context) -> Iterator[tuple[str, Drawing]]:
        for kind in about.kinds if is_measured(about) else ():
            if len(heads := of_kind(about, "head_map", kind)):
                yield kind.ending, partial(draw, heads, kind=kind.name, names=about.words.roles, **more(about, kind))

    return Figure(name=name, tables=(), draw=drawings)


MAP = _figure("figure-6", head_map, lambda about, kind: {"stress": stress(about, kind)})
TREE = _figure("head-tree", dendrogram, lambda about, kind: {"pairs": about.run.tables["head_distances"]})
PANELS = {coloring: _figure(f"map-{coloring}", partial(map_panel, coloring=coloring)) for coloring in COLORINGS}


def head_maps(about: Context, kind: Kind) -> Html | None:
    """Draw the map of a kind by each coloring, side by side."""
    label = "Map of the {} heads by {}; the table below holds the numbers."
    pictures = [
        placed(about, panel, label.format(kind.name, coloring), ending=kind.ending)
        for coloring, panel in PANELS.items()
    ]
    return el("div", pictures, class_="panels maps") if any(pictures) else None


def head_tree(about: Context, kind: Kind) -> Html | None:
    """Draw the tree of a kind, folded; nothing above the caption if it has too many heads for a page."""
    if kind.size > MOST_IN_TREE:
        return Html() if len(of_kind(about, "head_map", kind)) else None
    label = f"Tree of the {kind.name} heads by average linkage; the table above lists the clusters."
    pictures = placed(about, TREE, label, ending=kind.ending, class_="tree") if kind.size > 1 else []
    return el("details", el("summary", "Figure: the tree of heads"), pictures) if pictures else None


def cluster_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each cluster of a kind: its stability and silhouette, its middle head, its heads and roles."""
    heads, rows = of_kind(about, "head_map", kind), list[Row]()
    for row in records(of_kind(about, "head_clusters", kind)):
        members = heads[heads["cluster"] == row["cluster"]]
        names, stability = [*map(head_label, members["layer"], members["head"])], cell_of(row, "stability")
        more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
        roles = Counter(about.words.roles.get(role, plain(role)) for role in members["role"].dropna())
        is_single = row["size"] == 1
        rows.append(
            {
                **{name: row[name] for name in ("cluster", "size", "divergence", "silhouette")},
                "middle": (kind.labeled_head(row["medoid_layer"], row["medoid_head"]), ""),
                "stability": stability if stability.exists or is_single else "not tested",
                "roles": capital(", ".join(f"{role} ({n})" for role, n in roles.most_common())) or None,
                # the layers without the word `layers`, which the title of the column has
                "layers": layer_list(sorted(set(members["layer"]))).partition(" ")[2],
                "which": " ".join(names[:MOST_LISTED]) + more,
                "weak": is_single or stability.value < STABLE,
            }
        )
    return rows


def pair_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each of the most similar pairs of heads of a kind, with their roles."""
    heads, rows = of_kind(about, "head_map", kind), list[Row]()
    roles = heads.dropna(subset=["role"]).set_index(["layer", "head"])["role"].to_dict()
    for row in records(nearest_pairs(about.run.tables["head_distances"], kind=kind.name, most=MOST_PAIRS)):
        pair = heads_of_pair(row)
        named = dict.fromkeys(about.words.roles.get(roles.get(head, ""), DASH) for head in pair)
        rows.append(
            {
                "heads": [kind.labeled_head(*head) for head in pair],
                "divergence": cell_of(row, "divergence"),
                "n_rows": row["n_rows"],
                "role": capital(" / ".join(named)),
            }
        )
    return rows


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each head of a kind: its coordinates on the map, its cluster, and its nearest head."""
    heads, rows = of_kind(about, "head_map", kind), list[Row]()
    numbers = heads[["layer", "head"]].to_numpy().tolist()
    apart = matrix_of(about.run.tables["head_distances"], numbers, kind=kind.name)
    np.fill_diagonal(apart, np.nan)
    for head, line, row in zip(numbers, apart[:MOST_HEADS], records(heads), strict=False):
        is_known = np.isfinite(line).any()
        finds = row["finds"] if isinstance(row["finds"], str) else ""
        rows.append(
            {
                **{name: row[name] for name in ("cluster", "x", "y")},
                "head": numbered(kind.name, *head),
                "role": about.words.roles.get(str(row["role"])),
                "finds": plain(finds.replace(",", ", ")) or None,
                "nearest": numbered(kind.name, *numbers[np.nanargmin(line)]) if is_known else None,
                "divergence": float(np.nanmin(line)) if is_known else None,
                "nearness": -float(np.nanmin(line)) if is_known else None,
            }
        )
    return rows


NEAREST = 5
MOST_IN_PAIRS = 512
DIGITS = 6
UNKNOWN = 65535
"""The value that marks a pair that was not measured."""


def map_and_nearest(run: Study, kind: Kind) -> dict[str, Any]:
    """Return map, nearest heads and all pairs for the cards of the heads of a kind."""
    apart = _matrix(run, kind)
    return {
        "map": map_block(run, kind),
        "nearest": None if apart is None else nearest_block(apart),
        # With more heads, only the nearest are on the cards; all pairs are in the table.
        "apart": None if apart is None or kind.size > MOST_IN_PAIRS else apart_block(apart),
    }


def map_block(run: Study, kind: Kind) -> dict[str, Any] | None:
    """Return the `x` and `y` of every head on the map, in nats, and its cluster, in head order; None without a map.

    Coordinates have six significant digits, because heads of a random model lie a millionth of a nat apart.
    """
    table = run.tables.get("head_map")
    if table is None or not (table["kind"] == kind.name).any():
        return None
    return {name: [_short(value) for value in kind.in_head_order(table, name)] for name in ("x", "y", "cluster")}


def nearest_block(apart: NDArray[np.float64]) -> list[list[Any]]:
    """Return for each head the five nearest of its kind, as [index, divergence in nats].

    Equally near heads come in head order.

    Args:
        apart: divergences in nats, `[head, head]`, NaN where none was measured.
    """
    others = np.where(np.isnan(apart), np.inf, apart)
    np.fill_diagonal(others, np.inf)
    order = np.argsort(others, axis=1, kind="stable")[:, :NEAREST]
    return [
        [[int(other), _short(others[head, other])] for other in line if np.isfinite(others[head, other])]
        for head, line in enumerate(order)
    ]


def apart_block(apart: NDArray[np.float64]) -> dict[str, Any]:
    """Return the divergence of every pair: `step` in nats, and `bytes`, the steps, two bytes per pair in base64.

    Pairs come row by row above the diagonal; `UNKNOWN` marks a pair that was not measured.
    """
    pairs = apart[np.triu_indices(len(apart), k=1)]
    step = float(np.nanmax(pairs)) / (UNKNOWN - 1) or 1.0
    steps = np.where(np.isnan(pairs), UNKNOWN, np.rint(np.clip(pairs, 0, None) / step))
    return {"step": step, "bytes": base64.b64encode(steps.astype("<u2").tobytes()).decode("ascii")}


def _matrix(run: Study, kind: Kind) -> NDArray[np.float64] | None:
    """Return the divergences, `[head, head]`; None where no pair was measured."""
    pairs = run.tables.get("head_distances")
    if pairs is None or kind.size < 2:
        return None
    names = [(layer, head) for layer in range(1, kind.layers + 1) for head in range(1, kind.heads_per_layer + 1)]
    apart = matrix_of(pairs, names, kind=kind.name)
    return apart if np.isfinite(apart[np.triu_indices(len(apart), k=1)]).any() else None


def _short(value: float) -> float | int | None:
    """Return a number with six digits, a whole one without a point, null for NaN."""
    if np.isnan(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short == int(short) else short
