"""The figures of dependency heads as files: relations by layer, accuracy by distance."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.dependency.figures.distance_curves import distance_curves
from headscope.analyses.dependency.figures.relation_layers import best_by_layer, relation_layers
from headscope.analyses.dependency.heat import best_offsets, heat_name, kept_relations
from headscope.analyses.dependency.relations import relations_of
from headscope.analyses.dependency.section import curve_relations
from headscope.figures.saving import save
from headscope.reporting.kit.report_parts import Context


def save_syntax_figures(about: Context, folder: Path) -> list[Path]:
    """Write them as SVG, PNG and PDF, each where there is something to draw, and return their paths."""
    run, relations = about.run, relations_of(about.run)
    accuracies, near = run.table("dependency"), run.table("dependency_by_distance")
    paths: list[Path] = []
    if accuracies is not None:
        offsets = best_offsets(run)
        for place, kind in enumerate(about.kinds):
            names = kept_relations(relations, best_by_layer(accuracies, offsets, kind=kind.name))
            if names:
                figure = relation_layers(accuracies, offsets, kind=kind.name, relations=names)
                paths += save(figure, folder, heat_name(kind.name, first=place == 0))
    names = curve_relations(relations, run)
    if near is not None and names:
        paths += save(distance_curves(near, relations=names), folder, "accuracy-by-distance")
    return paths
