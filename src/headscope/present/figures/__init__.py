"""Figures: one function per figure, from tables to a matplotlib figure."""

from headscope.present.figures.arc_diagram import arc_diagram, arc_panel
from headscope.present.figures.line_diagram import example_panel, line_diagram
from headscope.present.figures.saving import save
from headscope.present.figures.statistic_panel import statistic_panel
from headscope.present.figures.stats_points import entropy_by_layer, stats_points

__all__ = [
    "arc_diagram",
    "arc_panel",
    "entropy_by_layer",
    "example_panel",
    "line_diagram",
    "save",
    "statistic_panel",
    "stats_points",
]
