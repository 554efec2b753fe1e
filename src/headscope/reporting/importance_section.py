"""Gradient importance in the page: figure 3, what it says of the tokens that heads rest on, and the layers' means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.figures.importance import MEASURES, NAMES, class_series, importance_panel
from headscope.reporting.arrays import Cell, Kind
from headscope.reporting.drawing import inline
from headscope.reporting.inputs import ReportInputs
from headscope.reporting.rules import WHERE, stands_out, target
from headscope.reporting.sections import figure_links, linked
from headscope.reporting.sentences import Sentence, sentence
from headscope.reporting.tables import Table
from headscope.reporting.words import Words, capital, count, layer_list, percent
from headscope.views.markup import Html, el

TOPIC = "importance"
WHY = (
    "A gradient says how much the loss would change with a weight. If heads rest on a token because they have nothing "
    "to do, it is small there."
)
CAPTION = (
    "A point is a head, in the colour and shape of the class of token that is attended to; the line is the layer’s "
    "mean with its 95% interval as a band; the axis is logarithmic. Click a point to open its card."
)
TERMS = (
    ("Gradient importance", "the mean of |d loss / d weight| over pairs of tokens whose attended token is of a class, "
     "for each segment, then over segments; a weight is free, its row need not sum to 1. Weight × gradient: the same "
     "with the product. Hidden tokens count as other tokens"),
)  # fmt: skip
_LOSSES = {
    "mlm": "masked language modelling",
    "clm": "predicting the next token",
    "denoise": "span denoising",
    "labels": "the given labels",
}


def importance_section(inputs: ReportInputs, kinds: Sequence[Kind], words: Words, found: Sequence[Sentence],
                       *, links: bool) -> Html | None:  # fmt: skip
    """Build the section, or None where the run took no gradients."""
    table = inputs.importance
    if table is None:
        return None
    several = len(kinds) > 1
    names = class_names(words)
    parts: list[Html | None] = []
    for kind in kinds:
        if several:
            parts.append(el("h3", capital(kind.name)))
        parts += linked([one for one in found if one.topic == TOPIC and one.kind in ("", kind.name)])
        figures = []
        for measure, (title, _) in MEASURES.items():
            figure = importance_panel(table, measure, kind=kind.name, names=names)
            label = f"{title} of each {kind.name} head by layer and class of token; the table below holds the means."
            figures.append(el("figure", inline(figure, name=f"{kind.name}-{measure}", label=label)))
        parts.append(el("div", figures, class_="panels"))
        if kind is kinds[0]:
            parts.append(el("p", f"{loss_line(inputs.manifest)} {CAPTION}".strip(), class_="caption"))
        parts += [
            measure_table(table, measure, kind.name, names, several=several).html() for measure in MEASURES
        ]
    return el(
        "section",
        el("h2", "What the loss depends on"),
        el("p", WHY, class_="why"),
        parts,
        figure_links("figure-3") if links else None,
        id="section-importance",
    )


def importance_findings(inputs: ReportInputs, kinds: Sequence[Kind], words: Words) -> list[Sentence]:
    """Say for each class of token that layers rest on how much less the loss depends on attention to it.

    A layer is spoken of where its average attention to the class stands out, and the interval of the gradient lies
    below that of other tokens (or above, for the opposite).
    """
    if inputs.importance is None:
        return []
    several = len(kinds) > 1
    return [
        made
        for kind in kinds
        for name in ("cls", "sep", "punctuation")
        for made in _resting(inputs.importance, kind, name, words, several)
    ]


def _resting(table: pd.DataFrame, kind: Kind, name: str, words: Words, several: bool) -> list[Sentence]:
    own, other = (layer_means(table, "gradient", key_class, kind.name) for key_class in (name, "other"))
    resting = [
        (layer, cell)
        for layer, cell in kind.each_layer(name)
        if stands_out(cell) and layer in own and layer in other
    ]
    less = [(layer, cell) for layer, cell in resting if own[layer].high < other[layer].low]
    more = [(layer, cell) for layer, cell in resting if own[layer].low > other[layer].high]
    out = []
    for layers, how in ((less, "less"), (more, "more")):
        if not layers:
            continue
        numbers = [layer for layer, _ in layers]
        ratios = [other[layer].value / own[layer].value for layer in numbers]
        times = _range([ratio if how == "less" else 1 / ratio for ratio in ratios])
        shares = [cell.value for _, cell in layers]
        share = (
            percent(shares[0]) if len(shares) == 1 else f"{percent(min(shares))} to {percent(max(shares))}"
        )
        known = all(own[layer].has_interval and other[layer].has_interval for layer in numbers)
        support = " (the 95% intervals of the two lie apart)" if known else ""
        where = layer_list(numbers) + (f" of {WHERE[kind.name]}" if several else "")
        one = sentence(
            TOPIC,
            f"in {where}, where the average head puts {share} of its attention on {target(name, words)}, the loss "
            f"depends on such a weight {times} times {how} than on a weight on other tokens{support}.",
        )
        out.append(Sentence(one.topic, one.parts, kind.name if several else ""))
    return out


def layer_means(table: pd.DataFrame, measure: str, key_class: str, kind: str) -> dict[int, Cell]:
    """Return the layers' means of one measure and class, by 1-based layer; without those that have no value."""
    means = class_series(table, measure, key_class, kind=kind).means
    return {
        int(row["layer"]): Cell(
            float(row["value"]), float(row["ci_low"]), float(row["ci_high"]), float("nan"), int(row["n"])
        )
        for row in means.to_dict("records")
    }


def measure_table(
    table: pd.DataFrame, measure: str, kind: str, names: Mapping[str, str], *, several: bool
) -> Table:
    """Tabulate the layers' means of one measure by class of token, in thousandths, each with its interval and n."""
    columns = {name: layer_means(table, measure, name, kind) for name in NAMES}
    present = [name for name, cells in columns.items() if cells]
    layers = sorted({layer for cells in columns.values() for layer in cells})
    rows = []
    for layer in layers:
        row = [str(layer)]
        for name in present:
            cell = columns[name].get(layer)
            row += ["–", "–", "0"] if cell is None else [milli(cell.value), ends(cell), f"{cell.n:,}"]
        rows.append(tuple(row))
    whose = f" ({kind})" if several else ""
    return Table(
        summary=f"Table: {MEASURES[measure][0].lower()}, the mean over heads in each layer{whose}",
        groups=(("", 1), *((f"{capital(names[name])}, 10⁻³ nats", 3) for name in present)),
        header=("layer", *("mean", "95% interval", "n") * len(present)),
        rows=tuple(rows),
        name=f"table-{measure.replace('_', '-')}-{kind}",
    )


def class_names(words: Words) -> dict[str, str]:
    """Return what the classes of key are called for this model."""
    return {
        "cls": words.cls, "sep": words.sep, "punctuation": "periods and commas", "other": "other tokens",
    }  # fmt: skip


def loss_line(manifest: Mapping[str, Any]) -> str:
    """Say which loss it was, on how many segments, and how large; nothing where the manifest does not tell."""
    told = manifest.get("importance")
    if not told:
        return ""
    return (
        f"The loss is that of {_LOSSES[told['loss']]}: {told['loss_mean']:.2f} nats a token on average over "
        f"{count(int(told['segments']), 'segment')}, {count(int(told['targets']), 'token')} predicted."
    )


def milli(value: float) -> str:
    """Write a value in thousandths with three digits that count."""
    return np.format_float_positional(1000 * value, precision=3, fractional=False, trim="k").rstrip(".")


def ends(cell: Cell) -> str:
    """Write an interval in thousandths, or a dash."""
    return f"{milli(cell.ci_low)}–{milli(cell.ci_high)}" if cell.has_interval else "–"


def _range(values: Sequence[float]) -> str:
    shown = [f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" for value in (min(values), max(values))]
    return shown[0] if shown[0] == shown[1] else " to ".join(shown)
