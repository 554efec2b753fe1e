"""The paper's figures 1, 2 and 4, and their panels for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import pandas as pd

from headscope.attention.head_id import head_anchor, head_label
from headscope.figures.axes import share_top
from headscope.figures.line_diagram import example_panel, line_diagram, line_pages
from headscope.figures.series import select
from headscope.figures.statistic_panel import statistic_panel
from headscope.figures.stats_points import by_page, entropy_by_layer, stats_points
from headscope.report_kit.kinds import Kind
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Drawing, Figure
from headscope.report_kit.words import capital
from headscope.statistics.role_catalog import SHOWN
from headscope.statistics.statistic import Topic
from headscope.statistics.statistic_catalog import is_share, of_topic
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


def _panels_of(topic: Topic) -> Callable[[Context, Kind], Html]:
    """Return the function that draws a panel for each statistic of a topic; neighboring panels have the same axis."""

    def panels(about: Context, kind: Kind) -> Html:
        stats, names = about.run.stats, about.words.statistics
        present = [name for name in of_topic(topic) if kind.occurs(name)]
        top = share_top(*(select(stats, name, kind=kind.name) for name in present))
        pictures = []
        for name in present:
            what = "share of attention" if is_share(name) else "nats"
            label = (
                f"{capital(names[name])}: {what} of each {kind.name} head, by layer; the table below holds the numbers."
            )
            draw = partial(statistic_panel, stats, name, kind=kind.name, roles=about.run.roles, names=names, top=top)
            pictures += _placed(about, f"{topic}-{kind.name}-{name}", draw, label)
        return el("div", pictures, class_="panels")

    panels.__name__ = f"{topic}_panels"
    return panels


PANELS = tuple(_panels_of(topic) for topic in get_args(Topic))
"""Functions named after their topics, `position_panels` to `focus_panels`."""


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
