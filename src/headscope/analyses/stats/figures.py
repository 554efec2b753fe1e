"""The paper's figures 1, 2 and 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from headscope.figures.entropy import entropy_by_layer
from headscope.figures.line_diagram import line_diagram, line_pages
from headscope.figures.stats_points import by_page, stats_points
from headscope.report_kit.report_parts import Context, Drawing, Figure


def _examples(about: Context, examples: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    rows = examples[examples["behavior"] != "shared"]
    for page in line_pages(rows) if len(rows) else ():
        yield "", partial(line_diagram, page, labels=about.words.roles)


def _by_page(draw: Callable[..., Any], about: Context, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for ending, rows in by_page(about.run.stats, each=2.9):
        yield ending, partial(draw, rows, roles=about.run.roles, names=about.words.statistics)


FIGURES = (
    Figure(name="figure-1", tables=("examples",), draw=_examples),
    Figure(name="figure-2", tables=("stats",), draw=partial(_by_page, stats_points)),
    Figure(name="figure-4", tables=("stats",), draw=partial(_by_page, entropy_by_layer)),
)
