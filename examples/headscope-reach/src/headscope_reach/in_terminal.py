"""What `headscope reach` prints: a line a layer."""

from collections.abc import Iterator

from headscope.analyses.stage_result import StageResult
from headscope.report_kit.tables.terminal import Grid


def render_results(result: StageResult) -> Iterator[Grid]:
    """Yield each layer's nearest and farthest looking head."""
    rows = []
    for (kind, layer), heads in result.tables["reach"].groupby(["kind", "layer"], sort=False):
        nearest, farthest = heads.loc[heads["value"].idxmin()], heads.loc[heads["value"].idxmax()]
        cells = [f"{layer}-{head['head']} ({head['value']:.1f})" for head in (nearest, farthest)]
        rows.append([kind, str(layer), *cells])
    ends = ("nearest, tokens", "farthest, tokens")
    yield Grid(("kind", "layer", *ends), rows, words=ends)
