"""Gradient importance in the report: figure 3, findings on sink tokens, and the layers' means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pandas as pd

from headscope.analyses.importance.figure import MEASURES, NAMES, importance_curves, importance_panel, kind_pages
from headscope.analyses.importance.findings import TOPIC, layer_differences, layer_means
from headscope.analyses.importance.tables import CLASS_NAMES, SHORT_TITLES
from headscope.encoding.choices import LOSS_TASKS
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import linked, paper_figure
from headscope.report_kit.loss_words import loss_words
from headscope.report_kit.numbers import DASH, ends, thousandths
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.tables.cells import NO_NUMBER, Cell
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import Words, capital
from headscope.views.markup import Html, el

WHY = (
    "A gradient says how much the loss would change with a weight; times the weight, how much what is attended to "
    "counts now. Where a token is only an attention sink, both should be small."
)
CAPTION = (
    "A point is a head, in the color and shape of the class of token that is attended to; the line is the layer’s "
    "mean with its 95% interval as a band; the axis is logarithmic. Classes are compared by their difference over the "
    "same documents (last table), not by these bands. Click a point to open its card."
)
TERMS = (
    ("Gradient importance", "the mean of |d loss / d weight| over pairs of tokens whose attended token is of a class, "
     "for each segment, then over segments; a weight is free, its row need not sum to 1. Weight × gradient: the same "
     "with the product. Hidden tokens count as other tokens"),
    ("Gate estimate", "|d loss / d gate| of a gate of 1 on all that a head writes, in nats: of each segment, then the "
     "mean over segments. To first order it is the loss that is added or saved when the head writes nothing"),
)  # fmt: skip


def importance_section(about: Context) -> list[Section]:
    """Build the section; empty where the run measured no importance."""
    run = about.run
    table, differences = run.tables.get("importance"), run.tables.get("importance_differences")
    if table is None:
        return []
    names = class_names(about.words)
    blocks: list[Html | None] = []
    for kind in about.kinds:
        blocks += [*kind.heading(), *linked(about.findings_on(TOPIC, kind=kind))]
        figures = []
        for measure, (title, _) in MEASURES.items():
            label = f"{title} of each {kind.name} head by layer and class of token; the table below holds the means."
            figures.append(placed(about, PANELS, label, ending=f"-{kind.name}-{measure}"))
        notes = [caption(CAPTION), caption(loss_line(run.manifest))]
        if kind is about.kinds[0]:
            notes.append(paper_figure(about, 3))
        blocks.append(captioned(el("div", figures, class_="panels"), *notes))
        blocks += [layer_mean_table(table, measure, kind, names).html() for measure in MEASURES]
        if differences is not None:
            blocks.append(differences_table(differences, kind, names).html())
    return section("importance", "What the loss depends on", WHY, blocks)


def _draw(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for ending, rows in kind_pages(table):
        yield ending, partial(importance_curves, rows, names=class_names(about.words))


def _draw_panels(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        panel = partial(importance_panel, table, kind=kind.name, names=class_names(about.words))
        for measure in MEASURES:
            yield f"-{kind.name}-{measure}", partial(panel, measure)


FIGURE = Figure(name="figure-3", tables=("importance",), draw=_draw)
PANELS = Figure(name="importance", tables=("importance",), draw=_draw_panels)


def layer_mean_table(table: pd.DataFrame, measure: str, kind: Kind, names: Mapping[str, str]) -> Table:
    """Return a table of one measure's layer means by class of token, in thousandths, each with its interval and n."""
    columns = {name: layer_means(table, measure, name, kind.name) for name in NAMES}
    present = [name for name, cells in columns.items() if cells]
    return Table(
        summary=f"Table: {MEASURES[measure][0].lower()}, the mean over heads in each layer{kind.in_brackets}",
        groups=(("", 1), *((f"{capital(names[name])}, 10⁻³ nats", 3) for name in present)),
        header=("layer", *("mean", "95% interval", "n") * len(present)),
        rows=_rows([columns[name] for name in present], _mean),
        name=f"table-{measure.replace('_', '-')}-{kind.name}",
    )


def differences_table(table: pd.DataFrame, kind: Kind, names: Mapping[str, str]) -> Table:
    """Return a table of each class minus other tokens in the layer means, in thousandths, by measure and interval."""
    columns = {
        (measure, name): layer_differences(table, measure, name, kind.name)
        for measure in MEASURES
        for name in NAMES
        if name != "other"
    }
    present = {column: cells for column, cells in columns.items() if cells}
    titles = (f"{capital(names[name])}, {SHORT_TITLES[measure]}, 10⁻³ nats" for measure, name in present)
    return Table(
        summary=f"Table: each class of token less other tokens, over the same documents{kind.in_brackets}",
        groups=(("", 1), *((title, 2) for title in titles)),
        header=("layer", *("less other tokens", "95% interval") * len(present)),
        rows=_rows(list(present.values()), _difference),
        name=f"table-importance-differences-{kind.name}",
    )


def _rows(
    columns: Sequence[Mapping[int, Cell]], write: Callable[[Cell], tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Return a row for each layer that has a number in any column, with the text of each number from `write`."""
    layers = sorted({layer for cells in columns for layer in cells})
    return tuple(
        (str(layer), *chain.from_iterable(write(cells.get(layer, NO_NUMBER)) for cells in columns)) for layer in layers
    )


def _mean(cell: Cell) -> tuple[str, ...]:
    value = thousandths(cell.value) if cell.exists else DASH
    return value, ends(cell, thousandths, missing=DASH), f"{cell.n:,}"


def _difference(cell: Cell) -> tuple[str, ...]:
    value = thousandths(cell.value) if cell.exists else DASH
    return value, ends(cell, thousandths, between=" to ", missing=DASH)


def class_names(words: Words) -> dict[str, str]:
    """Return the names of the classes of key for this model."""
    return {key_class: words.fill(name) for key_class, name in CLASS_NAMES.items()}


def loss_line(manifest: Mapping[str, Any]) -> str:
    """Return a sentence on the mean loss and its numbers of segments and tokens; empty where the loss is unknown."""
    facts = manifest.get("importance")
    if not facts:
        return ""
    words = loss_words(facts, how="on average over", noun="segment")
    return f"The loss is that of {LOSS_TASKS[facts['loss']]}: {words}."
