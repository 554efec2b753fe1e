"""Checkpoints in order, each compared with the last: when does a head attend as it does in the end?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.compare.facts import HeadKey, rows_of_head
from headscope.analyses.compare.pair_page import STYLES, meaning_of_change, number
from headscope.analyses.compare.pairs import SAME, VERDICTS
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import capital, count, join, join_first, plain
from headscope.statistics.statistic_catalog import STATISTICS, is_share
from headscope.storage.atomic import write_bytes
from headscope.storage.files import write_parquet
from headscope.views.markup import Page, assemble, el
from headscope.visible import short_name

FILE = "checkpoints.html"
_HEAD = ["kind", "layer", "head"]
MOST_MEASURES = 4
"""Number of statistics drawn for a head: the shares of attention that differ most from the last checkpoint's."""

_SHARES = {f"stats.{name}": name for name in STATISTICS if is_share(name)}
"""The statistics that are shares, by their columns in `study.heads`."""
MOST_STEPS = 2
"""Number of checkpoints, the first ones, whose heads are named that are the same from there on."""


@dataclass(frozen=True)
class Checkpoints:
    """Comparisons of checkpoints with the last of them.

    Attributes:
        studies: the comparison of each checkpoint but the last, in order.
    """

    studies: Sequence[Study]

    @cached_property
    def names(self) -> list[str]:
        """The names of all checkpoints; folders of one name have their number added."""
        first = [study.manifest["signature"]["model"]["name"] for study in self.studies]
        names = [short_name(plain(name)) for name in (*first, self.studies[0].manifest["compare"]["other"])]
        return [name if names.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(names, 1)]

    @cached_property
    def changes(self) -> pd.DataFrame:
        """The changes of all heads from each checkpoint to the last; `checkpoint` counts from 1."""
        tables = [study.tables["head_changes"].assign(checkpoint=at) for at, study in enumerate(self.studies, 1)]
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def settled(self) -> pd.Series:
        """The first checkpoint from which on each head attends as in the last, by kind, layer and head.

        From there on every comparison with the last checkpoint says `same`. The last checkpoint itself always does.
        """
        changes = self.changes.assign(same=self.changes["verdict"] == SAME)
        by_head = changes.pivot(index=_HEAD, columns="checkpoint", values="same").sort_index()
        return pd.Series(first_of_the_last_run(by_head.to_numpy(dtype=bool)) + 1, by_head.index)

    def sentences(self) -> list[str]:
        """Return the findings in words."""
        settled, names = self.settled, self.names
        if self.changes["verdict"].isna().all():
            return ["Whether heads attend as in the last checkpoint was not tested: it needs at least 10 documents."]
        last, early = int(settled.max()), int((settled == 1).sum())
        lines = [
            f"{count(early, 'head') if early else 'No head'} of {len(settled)} "
            f"{'are' if early > 1 else 'is'} the same in every checkpoint."
        ]
        between = settled[(settled > 1) & (settled < len(names))]
        for at in sorted(between.unique())[:MOST_STEPS]:
            heads = self._named(settled == at)
            lines.append(f"{heads} {'is' if (settled == at).sum() == 1 else 'are'} the same from {names[at - 1]} on.")
        if last == len(names):
            late = int((settled == last).sum())
            lines.append(
                f"{count(late, 'head')} {'is' if late == 1 else 'are'} not shown to be the same as in "
                f"{names[-1]} in the checkpoint before it: {self._named(settled == last)}."
            )
        elif last > 1:
            lines.append(f"All heads are the same from {names[last - 1]} on.")
        return lines

    def _named(self, chosen: pd.Series) -> str:
        """Return the names of the first five chosen heads, and the number of the others."""
        prefixes = kind_prefixes(chosen.index.get_level_values("kind"))
        heads = [f"{prefixes[kind]}{head_label(layer, head)}" for kind, layer, head in chosen[chosen].index]
        return join_first(heads, most=5)

    def table(self) -> pd.DataFrame:
        """Return the number of heads of each verdict, and the median change, of each checkpoint."""
        changes, settled = self.changes, self.settled
        rows = []
        for at, name in enumerate(self.names[:-1], 1):
            here = changes[changes["checkpoint"] == at]
            numbers = {verdict: int((here["verdict"] == verdict).sum()) for verdict in VERDICTS}
            row = {"checkpoint": name, "median change, nats": float(here["change"].median()), **numbers}
            rows.append({**row, "same from here on": int((settled <= at).sum())})
        return pd.DataFrame(rows)


def first_of_the_last_run(same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first index from which on all values of a row are true; the number of columns if the last is false.

    Args:
        same: `[row, column]`.
    """
    return np.asarray(same.shape[1] - np.cumprod(same[:, ::-1], axis=1).sum(1), dtype=np.int64)


def write_checkpoints(studies: Sequence[Study], folder: Path) -> list[str]:
    """Write the page and the table of changes into a folder, and return lines and tables for a terminal.

    Args:
        studies: the comparison of each checkpoint but the last with the last, in order.
        folder: folder of all comparisons.

    Raises:
        OSError: the folder is not writable.
    """
    checkpoints = Checkpoints(studies)
    settled = checkpoints.settled.to_frame("settled").reset_index()
    write_parquet(folder / "checkpoints.parquet", checkpoints.changes.merge(settled, on=_HEAD))
    write_bytes(folder / FILE, render_checkpoints(checkpoints).encode("utf-8"))
    table = checkpoints.table().to_string(index=False, float_format="{:.2g}".format)
    lines = [*(f"- {sentence}" for sentence in checkpoints.sentences()), "", *table.splitlines(), ""]
    return [*lines, f"table: {folder / 'checkpoints.parquet'}", f"page: {folder / FILE}"]


def render_checkpoints(checkpoints: Checkpoints) -> str:
    """Return the checkpoints as one self-contained HTML page."""
    names, about = checkpoints.names, Context.of(checkpoints.studies[0])
    table, sizes = checkpoints.table(), [count(kind.size, kind.noun) for kind in about.kinds]
    cells = [[f"{value:.2g}" if isinstance(value, float) else str(value) for value in row] for row in table.to_numpy()]
    step = el("input", type="range", id="step", min=0, max=len(names) - 1, value=0, aria_label="Checkpoint")
    body = el(
        "main",
        el("h1", f"When do heads attend as in {names[-1]}?"),
        el("p", f"{join(sizes)} · {len(names)} checkpoints", class_="run"),
        [el("p", sentence) for sentence in checkpoints.sentences()],
        el("p", meaning_of_change(checkpoints.studies[0].manifest), class_="why"),
        el("div", class_="tabs", id="kinds"),
        el("p", el("label", "Checkpoint ", step), el("output", id="step-name"), class_="choices"),
        el("section", el("div", id="grid-A", class_="grid-box"), class_="sides", aria_label="Head grid"),
        el("p", id="readout", class_="readout", aria_live="polite"),
        el("p", el("span", class_="scale", aria_hidden="true"), el("span", id="scale"),
           el("span", el("i", class_="framed"), " changed"), class_="legend"),
        el("article", id="pair", class_="card pair", aria_label="Head over checkpoints", tabindex=-1),
        el("noscript", el("p", "The grid and the curves need JavaScript; the rest does not.")),
        el("h2", "Checkpoints"),
        el("div", el("table", el("thead", el("tr", [el("th", str(name), scope="col") for name in table])),
                     el("tbody", [el("tr", [el("td", cell) for cell in row]) for row in cells]), class_="measures"),
           class_="scroll", tabindex=0, role="region", aria_label="Checkpoints"),
    )  # fmt: skip
    settled = checkpoints.settled
    data = {
        "names": names,
        "margin": checkpoints.studies[0].manifest["compare"]["margin"],
        "kinds": [
            {
                "kind": kind.name,
                "label": capital(kind.noun),
                "first": [kind.layers, kind.heads_per_layer],
                "pairs": [
                    {
                        "first": (layer - 1) * kind.heads_per_layer + head - 1,
                        "settled": int(settled[kind.name, layer, head]),
                        "changes": _changes(checkpoints, (kind.name, layer, head)),
                        "measures": _measures(checkpoints, about, (kind.name, layer, head)),
                    }
                    for _, layer, head in settled.index[settled.index.get_level_values(0) == kind.name]
                ],
            }
            for kind in about.kinds
        ],
    }
    return assemble(
        Page(title=f"Checkpoints up to {names[-1]}", body=[body], data={"comparison": data}, entry=ENTRY, styles=STYLES)
    )


ENTRY = "report/checkpoints_page.js"


def _changes(checkpoints: Checkpoints, head: HeadKey) -> list[list[Any]]:
    """Return change, ends of its interval and verdict of a head at each checkpoint; 0 at the last."""
    rows = [rows_of_head(study, "head_changes", head).iloc[0] for study in checkpoints.studies]
    ends = ("change", "ci_low", "ci_high")
    points: list[list[Any]] = []
    for row in rows:
        verdict = row["verdict"] if isinstance(row["verdict"], str) else None  # too few documents to test it
        points.append([*(number(row[end]) for end in ends), verdict])
    return [*points, [0.0, 0.0, 0.0, SAME]]


def _measures(checkpoints: Checkpoints, about: Context, head: HeadKey) -> list[dict[str, Any]]:
    """Return the statistics of a head over checkpoints, those that changed most first, with bands.

    The band of a checkpoint is the interval of its difference from the last, around the last one's value.
    """
    rows = [rows_of_head(study, "measure_changes", head).set_index("column") for study in checkpoints.studies]
    largest = pd.concat([table["difference"].abs() for table in rows], axis=1).max(axis=1)
    largest = largest[largest.index.isin(list(_SHARES))].sort_values(ascending=False, kind="stable")
    curves = []
    for column in largest.index[:MOST_MEASURES]:
        points = [table.loc[column] for table in rows]
        last = float(points[0]["second"])
        values = [[number(last - row[end]) for end in ("difference", "ci_high", "ci_low")] for row in points]
        label = capital(about.words.statistics[_SHARES[column]])
        curves.append({"label": label, "share": True, "values": [*values, [number(last)] * 3]})
    return curves
