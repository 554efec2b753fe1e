"""The files of a report's figures: those of the paper, and more, each as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from headscope.figures.arc_diagram import arc_diagram
from headscope.figures.distance_curves import distance_curves
from headscope.figures.entropy import entropy_by_layer
from headscope.figures.importance import importance_curves
from headscope.figures.line_diagram import line_diagram
from headscope.figures.relation_layers import best_by_layer, relation_layers
from headscope.figures.saving import save
from headscope.figures.surface_points import surface_points
from headscope.reporting.arcs_section import figure_examples
from headscope.reporting.arrays import kinds_of
from headscope.reporting.distances_section import save_distance_figures
from headscope.reporting.heat import best_offsets, heat_name, kept_relations
from headscope.reporting.importance_section import class_names
from headscope.reporting.inputs import ReportInputs
from headscope.reporting.probes_section import save_probe_figures
from headscope.reporting.relations import relations_of
from headscope.reporting.syntax_section import curve_relations
from headscope.reporting.words import words_for


def write_figures(inputs: ReportInputs, folder: Path) -> list[Path]:
    """Write the figures as SVG and PNG, and return their paths.

    Figures 1, 2 and 4 of the paper, figure 1 where there is an example; with a loss figure 3; with a treebank or
    coreference figure 5, relations by layer and accuracy by distance, each where there is something to draw; with
    distances figure 6 and the tree of heads; with probes their scores and the weights of heads.
    """
    words = words_for(inputs.manifest)
    paths = [*save(surface_points(inputs.surface, names=words.statistics), folder, "figure-2")]
    paths += save(
        entropy_by_layer(inputs.surface, roles=inputs.roles, names=words.statistics), folder, "figure-4"
    )
    examples = inputs.examples[inputs.examples["behaviour"] != "shared"]
    if len(examples):
        paths += save(line_diagram(examples, labels=words.roles), folder, "figure-1")
    if inputs.importance is not None:
        paths += save(importance_curves(inputs.importance, names=class_names(words)), folder, "figure-3")
    paths += _section_4(inputs, folder)
    paths += save_distance_figures(inputs, kinds_of(inputs), words, folder)
    paths += save_probe_figures(inputs, kinds_of(inputs), folder)
    return sorted(paths)


def _section_4(inputs: ReportInputs, folder: Path) -> list[Path]:
    words, relations = words_for(inputs.manifest), relations_of(inputs)
    paths: list[Path] = []
    examples = figure_examples(inputs)
    if examples is not None:
        rows, titles = examples
        paths += save(arc_diagram(rows, titles=titles, special=(words.cls, words.sep)), folder, "figure-5")
    if inputs.dependency is not None:
        offsets = best_offsets(inputs)
        for place, kind in enumerate(kinds_of(inputs)):
            names = kept_relations(relations, best_by_layer(inputs.dependency, offsets, kind=kind.name))
            if names:
                figure = relation_layers(inputs.dependency, offsets, kind=kind.name, relations=names)
                paths += save(figure, folder, heat_name(kind.name, first=place == 0))
    names = curve_relations(relations, inputs)
    if inputs.dependency_by_distance is not None and names:
        figure = distance_curves(inputs.dependency_by_distance, relations=names)
        paths += save(figure, folder, "accuracy-by-distance")
    return paths
