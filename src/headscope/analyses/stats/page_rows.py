"""Figures and rows of the page: panels of statistics, examples of roles, layer means, and the paper's numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from headscope.attention.head_id import head_anchor, head_label
from headscope.present.blocks import Row
from headscope.present.cells import Cell, number
from headscope.present.drawing import placed
from headscope.present.figures.axes import share_top
from headscope.present.figures.line_diagram import example_panel, line_diagram, line_pages
from headscope.present.figures.series import select
from headscope.present.figures.statistic_panel import statistic_panel
from headscope.present.figures.stats_points import by_page, entropy_by_layer, stats_points
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import measured
from headscope.present.numbers import percent
from headscope.present.page_tables import unit
from headscope.present.paper_table import paper_numbers
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.words import capital, join, plain
from headscope.statistics.roles import ROLES, SHOWN
from headscope.statistics.statistic import Topic
from headscope.statistics.statistic_catalog import NAMES, is_share, of_topic
from headscope.views.markup import Html, el


def _examples(about: Context, examples: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    rows = examples[examples["behavior"] != "shared"]
    for page in line_pages(rows) if len(rows) else ():
        yield "", partial(line_diagram, page, labels=about.words.roles)


def _by_page(draw: Callable[..., Any], about: Context, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for ending, rows in by_page(about.run.stats, each=2.9):
        yield ending, partial(draw, rows, roles=about.roles, names=about.words.statistics)


FIGURES = (
    Figure(name="figure-1", tables=("examples",), draw=_examples),
    Figure(name="figure-2", tables=("stats",), draw=partial(_by_page, stats_points)),
    Figure(name="figure-4", tables=("stats",), draw=partial(_by_page, entropy_by_layer)),
)


def panels(about: Context, kind: Kind, topic: Topic) -> Html:
    """Draw a panel for each statistic of a topic; neighboring panels have the same axis."""
    stats, names = about.run.stats, about.words.statistics
    present = [name for name in of_topic(topic) if kind.occurs(name)]
    top = share_top(*(select(stats, name, kind=kind.name) for name in present))
    pictures = []
    for name in present:
        unit_of_axis = "share of attention" if is_share(name) else "nats"
        label = (
            f"{capital(names[name])}: {unit_of_axis} of each {kind.name} head, by layer; "
            "the table below holds the numbers."
        )
        draw = partial(statistic_panel, stats, name, kind=kind.name, roles=about.run.roles, names=names, top=top)
        pictures += _placed(about, f"{topic}-{kind.name}-{name}", draw, label)
    return el("div", pictures, class_="panels")


def example_panels(about: Context) -> Html | None:
    """Draw the clearest example of each role, each linked to its head's card."""
    pictures = []
    for index, row in enumerate(role_examples(about)):
        label = f"Attention of {row['kind']} head {head_label(row['layer'], row['head'])} on an example sentence."
        draw = partial(example_panel, row, labels=about.words.roles, prefix=about.kind(row["kind"]).prefix)
        card = f"#{head_anchor(row['kind'], int(row['layer']), int(row['head']))}"
        pictures += _placed(about, f"example-{index}", draw, label, href=card)
    return el("div", pictures, class_="panels examples") if pictures else None


def role_examples(about: Context) -> list[pd.Series]:
    """Return the clearest example of each role, by kind and in the order of the roles."""
    table = about.run.tables.get("examples")
    if table is None:
        return []
    order = {name: index for names in (SHOWN, [kind.name for kind in about.kinds]) for index, name in enumerate(names)}
    rows = [row for _, row in table[table["behavior"] != "shared"].iterrows()]
    return sorted(rows, key=lambda row: (order[row["kind"]], order[row["behavior"]], row["layer"], row["head"]))


def _placed(about: Context, name: str, draw: Drawing, label: str, **more: str) -> list[Html]:
    return placed(about, Figure(name=name, tables=(), draw=lambda _: [("", draw)]), label, **more)


def kinds_with(about: Context, topic: Topic) -> list[Kind]:
    """Return the kinds of attention in which any statistic of a topic occurs."""
    return [kind for kind in about.kinds if any(map(kind.occurs, of_topic(topic)))]


def layer_columns(about: Context, topic: Topic) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the columns of the table of a topic's layer means: four for each of its statistics."""
    columns = {"": {"layer": ("layer", "text")}}
    for name in of_topic(topic):
        value, ends = ("share", "ends") if is_share(name) else ("two_decimals", "two_decimal_ends")
        columns[f"{capital(about.words.statistics[name])}, {unit(name)}"] = {
            "mean": (name, value),
            "95% interval": (name, ends),
            "uniform": (f"{name} uniform", value),
            "n": (f"{name} n", "count"),
        }
    return columns


def layer_rows(_: Context, kind: Kind) -> Sequence[Row]:
    """Return the mean over the heads of each layer, of every statistic."""
    rows: list[dict[str, Any]] = []
    for layer in range(1, kind.layers + 1):
        rows.append({"layer": kind.layer_name(layer)})
        for name in NAMES:
            cell = kind.cell(name, layer)
            rows[-1] |= {name: cell, f"{name} uniform": cell.uniform, f"{name} n": cell.n if cell.exists else None}
    return rows


def role_rows(about: Context) -> list[Row]:
    """Return the number of heads with each role, and their layers; a model's only kind of attention is not named."""
    rows: list[Row] = []
    for kind in about.kinds:
        grid = np.array(kind.roles, dtype=object).reshape(kind.layers, kind.heads_per_layer)
        name = kind.name if kind.prefix else None
        for role, label in about.words.roles.items():
            by_layer = (grid == role).sum(1)
            layers = ", ".join(f"{layer} ({heads})" for layer, heads in enumerate(by_layer.tolist(), 1) if heads)
            if layers:
                rows.append({"kind": name, "role": capital(label), "heads": by_layer.sum(), "layers": layers})
    return rows


def example_rows(about: Context) -> list[Row]:
    """Return where the examples of the roles come from, and the value of the role's statistic there."""
    return [
        {
            "head": capital(about.kind(row["kind"]).head_name(row["layer"], row["head"])),
            "role": capital(about.words.roles[row["behavior"]]),
            "value": (number(row["value"]), ROLES[row["behavior"]].example),
            "document": plain(row["document"])[:12],
            "segment": row["segment"],
        }
        for row in role_examples(about)
    ]


def is_papers_model(about: Context) -> bool:
    """Return True if the run measured the paper's model."""
    return about.run.is_bert_base


def papers_source(_: Context) -> str:
    """Return the reference of the paper."""
    return plain(paper_numbers().get("source", ""))


def paper_rows(about: Context) -> list[Row]:
    """Return the paper's numbers, for its model with those measured here."""
    stats, kind = paper_numbers()["stats"], about.kinds[0]
    previous, following = (", ".join(map(str, stats[f"{name}_over_0.5_in_layers"])) for name in ("previous", "next"))
    dominated = [layer for layer, cell in kind.each_layer("sep") if cell.value > 0.5]
    last = kind.cell("entropy_cls", kind.layers)
    broad = [cell.value for *head, cell in kind.each("max_weight") if kind.role(*head) == "broad"]
    findings = (
        ("Layers of heads above 50% on the previous token", _over_half(kind, "previous"), previous),
        ("Layers of heads above 50% on the next token", _over_half(kind, "next"), following),
        (
            "Attention to [SEP] in layers 6 to 10",
            _layer_range(kind, "sep", range(6, min(10, kind.layers) + 1)),
            _in_percent(stats["sep_share_layers_6_to_10"]),
        ),
        (
            "Attention of [SEP] to [SEP] where [SEP] dominates",
            _layer_range(kind, "sep_to_sep", dominated),
            _in_percent(stats["sep_to_sep"]),
        ),
        (
            "Entropy from [CLS] in the last layer",
            _with_interval(last, "entropy_cls") if last.exists else "cannot occur",
            f"{stats['entropy_cls_last_layer_nats']} nats",
        ),
        (
            "Largest weight of broad heads",
            f"at most {percent(max(broad))} on average" if broad else "no broad heads",
            f"at most {percent(stats['broad_heads_max_weight'])}",
        ),
    )
    is_measured = is_papers_model(about)
    return [{"finding": name, "here": here if is_measured else None, "paper": paper} for name, here, paper in findings]


def _in_percent(statement: object) -> str:
    """Write the fractions of a statement in percent, as the rest of the report does."""
    return re.sub(r"0\.\d+", lambda share: percent(float(share.group())), str(statement))


def _over_half(kind: Kind, statistic: str) -> str:
    return ", ".join(str(layer) for layer, _, cell in kind.each(statistic) if cell.value > 0.5) or "none"


def _layer_range(kind: Kind, statistic: str, layers: Sequence[int]) -> str:
    shares = [_with_interval(cell, statistic) for layer in layers if (cell := kind.cell(statistic, layer)).exists]
    if not shares:
        return "no such layer"
    return f"{join(shares)} in {'layer' if len(layers) == 1 else 'layers'} {join([str(layer) for layer in layers])}"


def _with_interval(cell: Cell, statistic: str) -> str:
    return "".join(measured(cell, statistic, long=False))
