"""The paper's figures 1, 2 and 4, and their panels for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, get_args

import matplotlib.figure
import pandas as pd

from headscope.figures.axes import share_top
from headscope.figures.entropy import entropy_by_layer
from headscope.figures.line_diagram import example_panel, line_diagram, line_pages
from headscope.figures.series import select
from headscope.figures.statistic_panel import statistic_panel
from headscope.figures.stats_points import by_page, stats_points
from headscope.report_kit.kinds import Kind
from headscope.report_kit.report_parts import Context, Drawing, Figure
from headscope.statistics.role_catalog import SHOWN
from headscope.statistics.statistic import Topic
from headscope.statistics.statistic_catalog import of_topic


def _examples(about: Context, examples: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    rows = examples[examples["behavior"] != "shared"]
    for page in line_pages(rows) if len(rows) else ():
        yield "", partial(line_diagram, page, labels=about.words.roles)


def _by_page(draw: Callable[..., Any], about: Context, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for ending, rows in by_page(about.run.stats, each=2.9):
        yield ending, partial(draw, rows, roles=about.roles, names=about.words.statistics)


def _panels(topic: Topic, about: Context, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        present = [name for name in of_topic(topic) if kind.occurs(name)]
        for name in present:
            yield f"-{kind.name}-{name}", partial(_panel, about, kind, name, beside=present)


def _panel(about: Context, kind: Kind, name: str, *, beside: Sequence[str]) -> matplotlib.figure.Figure:
    """Draw one statistic of a kind; neighboring panels of shares have the same axis."""
    stats, roles, names = about.run.stats, about.run.roles, about.words.statistics
    top = share_top(*(select(stats, other, kind=kind.name) for other in beside))
    return statistic_panel(stats, name, kind=kind.name, roles=roles, names=names, top=top)


def example_rows(about: Context) -> list[pd.Series]:
    """Return the clearest example of each role, by kind and in the order of the roles."""
    rows = about.run.examples[about.run.examples["behavior"] != "shared"]
    order = {kind.name: index for index, kind in enumerate(about.kinds)}
    places = {behavior: index for index, behavior in enumerate(SHOWN)}
    return sorted(
        (row for _, row in rows.iterrows()),
        key=lambda row: (
            *(order.get(row["kind"], 9), places.get(row["behavior"], len(SHOWN))),
            *(row["layer"], row["head"]),
        ),
    )


def _example_panels(about: Context, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for index, row in enumerate(example_rows(about)):
        panel = partial(example_panel, row, labels=about.words.roles, prefix=about.kind(row["kind"]).prefix)
        yield f"-{index}", panel


PANELS = {topic: Figure(name=topic, tables=("stats",), draw=partial(_panels, topic)) for topic in get_args(Topic)}
EXAMPLE_PANELS = Figure(name="example", tables=("examples",), draw=_example_panels)
FIGURES = (
    Figure(name="figure-1", tables=("examples",), draw=_examples),
    Figure(name="figure-2", tables=("stats",), draw=partial(_by_page, stats_points)),
    Figure(name="figure-4", tables=("stats",), draw=partial(_by_page, entropy_by_layer)),
)
