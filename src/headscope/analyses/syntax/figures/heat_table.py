"""Relations by layers as a table that is also a heat map: a number in each cell, shaded where it beats the offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from headscope.analyses.syntax.figures.relation_layers import STEPS, LayerBest, best_by_layer, step_of
from headscope.analyses.syntax.relations import Relation, best_offsets
from headscope.attention.head_id import head_anchor
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import bracketed_interval
from headscope.report_kit.tables.page_tables import page_table, scrolled
from headscope.report_kit.words import DIRECTIONS, short
from headscope.study.study import Study
from headscope.views.markup import Html, el

MOST_CELLS = 1500
"""A larger table would be the heaviest part of the page, so only the most frequent relations are kept."""


def drawn_relations(relations: Sequence[Relation], cells_by_relation: Mapping[str, Sequence[LayerBest]]) -> list[str]:
    """Return the relations that are shown, in the order of table 1; if there are too many, the most frequent ones."""
    present = [relation for relation in relations if relation.name in cells_by_relation and not relation.overall]
    layers = max((len(cells_by_relation[relation.name]) for relation in present), default=1)
    most = max(MOST_CELLS // layers, 1)
    frequent = {relation.name for relation in sorted(present, key=lambda relation: -relation.n)[:most]}
    return [relation.name for relation in present if relation.name in frequent]


def heat_table(run: Study, relations: Sequence[Relation], kind: Kind) -> Html | None:
    """Return the heat map of one kind of attention, each cell linked to the card of its head."""
    accuracies = run.tables.get("syntax")
    if accuracies is None:
        return None
    cells_by_relation = best_by_layer(accuracies, best_offsets(run), kind=kind.name)
    names = drawn_relations(relations, cells_by_relation)
    if not names:
        return None
    layers = max(cell.layer for name in names for cell in cells_by_relation[name])
    rows = []
    for name in names:
        cells = {cell.layer: _cell(cell, kind) for cell in cells_by_relation[name]}
        of_layers = [cells.get(layer, el("td")) for layer in range(1, layers + 1)]
        rows.append(el("tr", el("th", short(name), scope="row"), of_layers))
    titles = ["relation", *map(str, range(1, layers + 1))]
    table = page_table(titles, {"": rows}, name=f"table-heat-{kind.name}", class_="heat")
    return scrolled(table, "Accuracy of the best head of each layer, by relation")


def _cell(cell: LayerBest, kind: Kind) -> Html:
    name = kind.head_label(cell.layer, cell.head)
    way = DIRECTIONS.get(cell.direction, cell.direction)
    ends = bracketed_interval(cell.ci_low, cell.ci_high, form=".1f", scale=100.0)
    against = f", {100 * cell.above:+.1f} points to the best offset" if not isnan(cell.above) else ""
    title = f"Head {name}, {way}: {100 * cell.accuracy:.1f}%{ends}{against}".replace("-0.0", "0.0")
    step = step_of(cell.above)
    address = f"#{head_anchor(kind.name, cell.layer, cell.head)}"
    link = el("a", f"{100 * cell.accuracy:.0f}", href=address, title=title)
    return el("td", link, class_=f"v{step}" if step else None)


def heat_key() -> Html:
    """Return the key of the shades: from at or below the offset to 40 points and more above it."""
    swatches = [el("i", class_=f"v{step}") for step in range(1, STEPS + 1)]
    return el(
        "p",
        "Points above the best fixed offset: ",
        el("span", "0 ", swatches, " 40 and more", class_="heat-key"),
        "; unshaded at or below it.",
        class_="caption",
    )
