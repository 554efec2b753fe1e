"""The figures of dependency heads by the names of their files: relations by layer, accuracy by distance."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from headscope.analyses.syntax.figures.distance_curves import curve_pages, distance_curves
from headscope.analyses.syntax.figures.relation_layers import best_by_layer, relation_layers
from headscope.analyses.syntax.heat_table import best_offsets, drawn_relations, heat_name
from headscope.analyses.syntax.relations import relations_of
from headscope.analyses.syntax.section import curve_relations
from headscope.report_kit.report_parts import Context


def syntax_figures(about: Context) -> Iterator[tuple[str, Figure]]:
    """Yield each, where there is something to draw, with the name of its file."""
    run, relations = about.run, relations_of(about.run)
    accuracies, near = run.tables.get("syntax"), run.tables.get("syntax_by_distance")
    if accuracies is not None:
        offsets = best_offsets(run)
        for index, kind in enumerate(about.kinds):
            names = drawn_relations(relations, best_by_layer(accuracies, offsets, kind=kind.name))
            if names:
                figure = relation_layers(accuracies, offsets, kind=kind.name, relations=names)
                yield heat_name(kind.name, first=index == 0), figure
    names = curve_relations(relations, run)
    if near is not None and names:
        for number, page in enumerate(curve_pages(names), start=1):
            name = "accuracy-by-distance" if number == 1 else f"accuracy-by-distance-{number}"
            yield name, distance_curves(near, relations=page)
