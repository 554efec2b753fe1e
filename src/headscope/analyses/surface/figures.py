"""The paper's figures 1, 2 and 4 as files."""

from __future__ import annotations

from pathlib import Path

from headscope.figures.entropy import entropy_by_layer
from headscope.figures.line_diagram import line_diagram
from headscope.figures.saving import save
from headscope.figures.surface_points import surface_points
from headscope.reporting.kit.report_parts import Context


def save_surface_figures(about: Context, folder: Path) -> list[Path]:
    """Write them as SVG and PNG, and return their paths; figure 1 where the run kept examples."""
    run, words = about.run, about.words
    paths = [*save(surface_points(run.surface, roles=run.roles, names=words.statistics), folder, "figure-2")]
    entropy = entropy_by_layer(run.surface, roles=run.roles, names=words.statistics)
    paths += save(entropy, folder, "figure-4")
    examples = run.examples[run.examples["behaviour"] != "shared"]
    if len(examples):
        paths += save(line_diagram(examples, labels=words.roles), folder, "figure-1")
    return paths
