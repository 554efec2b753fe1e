"""The paper's figures 1, 2 and 4 by the names of their files."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from headscope.figures.entropy import entropy_by_layer
from headscope.figures.line_diagram import line_diagram, line_pages
from headscope.figures.stats_points import by_page, stats_points
from headscope.report_kit.report_parts import Context


def stats_figures(about: Context) -> Iterator[tuple[str, Figure]]:
    """Yield each figure with the name of its file; figure 1 only where the run has examples."""
    run, words = about.run, about.words
    for suffix, rows in by_page(run.stats, each=2.9):
        yield f"figure-2{suffix}", stats_points(rows, roles=run.roles, names=words.statistics)
        yield f"figure-4{suffix}", entropy_by_layer(rows, roles=run.roles, names=words.statistics)
    examples = run.examples[run.examples["behavior"] != "shared"]
    if len(examples):
        for number, page in enumerate(line_pages(examples), start=1):
            yield "figure-1" if number == 1 else f"figure-1-{number}", line_diagram(page, labels=words.roles)
