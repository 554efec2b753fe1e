"""Distributions over rows in the terminal, a line per head."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.distribution.deciles import TABULATED
from headscope.analyses.distribution.row_measures import MEASURES
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.numbers import two_digits
from headscope.report_kit.tables.terminal import Grid


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield the first, middle and last decile of every head's measures."""
    table = result.tables["distribution"]
    prefix = kind_prefixes(table["kind"])
    rows = []
    for (kind, layer, head), deciles in table.groupby(["kind", "layer", "head"], sort=False):
        by_measure = deciles.set_index(["measure", "decile"])["value"]
        cells = [" ".join(two_digits(by_measure[name, decile]) for decile in TABULATED) for name in MEASURES]
        rows.append([prefix[kind] + head_label(layer, head), *cells])
    labels = (f"{measure.label}, {measure.unit.split()[0]}" for measure in MEASURES.values())
    yield Grid(("head", *labels), rows)
    yield (
        "three numbers of each head's rows: a tenth of them lies below the first, half below the second, a tenth above "
        "the third; special tokens are no rows"
    )
