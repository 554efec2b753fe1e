"""Principal directions in the terminal, a line per head."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.pca.accumulator import SIDES
from headscope.analyses.pca.tables import EFFECTIVE, SHARE_NAMES
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.numbers import HYPHEN, formatted
from headscope.report_kit.tables.terminal import Grid


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield the effective dimension of every head's vectors, with the share of the first direction."""
    table = result.tables["pca"]
    prefix = kind_prefixes(table["kind"])
    rows = []
    for (kind, layer, head), values_of_head in table.groupby(["kind", "layer", "head"], sort=False):
        by_side = values_of_head.set_index(["vectors", "statistic"])["value"]
        cells = [
            f"{formatted(by_side[side, EFFECTIVE], '.1f', missing=HYPHEN)} "
            f"({formatted(by_side[side, SHARE_NAMES[0]], '.0%', missing=HYPHEN)})"
            for side in SIDES
        ]
        rows.append([prefix[kind] + head_label(layer, head), *cells])
    yield Grid(("head", "queries", "keys", "output"), rows)
    yield (
        "in how many directions they vary, as if evenly (in brackets: the share of the variance along the first); "
        "special tokens are left out"
    )
