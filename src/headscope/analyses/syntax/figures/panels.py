"""The curves of accuracy by distance in the page: a small figure for each of the first relations."""

from __future__ import annotations

from headscope.analyses.syntax.figures.distance_curves import distance_panel
from headscope.analyses.syntax.relations import curve_relations, relations_of
from headscope.report_kit.pictures.drawing import inline
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import short
from headscope.views.markup import Html, el

CURVES = 8
"""Number of relations whose curves are in the page; the table below them has all relations."""


def distance_panels(about: Context) -> Html | None:
    """Draw the curves of the first relations of table 1; None where no distance was measured."""
    table = about.run.tables.get("syntax_by_distance")
    names = curve_relations(relations_of(about.run), about.run)[:CURVES]
    if table is None or not names:
        return None
    figures = [
        inline(
            distance_panel(table[table["relation"] == name]),
            name=f"distance-{index}",
            label=f"Accuracy of the best head for {short(name)} by distance, beside its best fixed offset.",
        )
        for index, name in enumerate(names)
    ]
    return el("div", figures, class_="panels curves")
