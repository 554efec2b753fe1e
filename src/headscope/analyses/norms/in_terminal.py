"""Heads' output norms in the terminal: one row per layer, with its inactive heads."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.norms.accumulator import INACTIVE_BELOW
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, OUTPUT
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.numbers import HYPHEN, formatted
from headscope.report_kit.tables.terminal import Grid
from headscope.statistics.tables.boolean_columns import is_true


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield each layer's mean output norm, the range over its heads, and its inactive heads."""
    table = result.tables["norms"]
    table = table[table["key_class"].isna()]
    prefix = kind_prefixes(table["kind"])
    rows = []
    for (kind, layer), of_layer in table.groupby(["kind", "layer"], sort=False):
        relative = of_layer[of_layer["statistic"] == IN_LAYER]
        means = of_layer[of_layer["head"].isna()].set_index("statistic")["value"]
        inactive = relative[is_true(relative["inactive"])]["head"]
        numbers = (means[OUTPUT], means[IN_STREAM], relative["value"].min(), relative["value"].max())
        *sizes, lowest, highest = (formatted(number, ".3g", missing=HYPHEN) for number in numbers)
        named = ", ".join(head_label(layer, head) for head in inactive) or "-"
        rows.append([f"{prefix[kind]}{layer}", *sizes, f"{lowest} to {highest}", named])
    titles = ("layer", "output", "of the stream", "heads, of the mean", "inactive")
    yield Grid(titles, rows, words=("inactive",))
    yield (
        "output: mean length of what a head adds at a row; of the stream: of what the layer reads there; inactive: "
        f"the whole interval below {INACTIVE_BELOW:g} of the layer's mean head, at a false discovery rate of 5% over "
        "the heads"
    )
