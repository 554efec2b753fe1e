"""What heads write, as a terminal shows it: a line a layer, and the heads that rest."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from headscope.analyses.norms.accumulator import RESTING
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, OUTPUT
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label
from headscope.reporting.kit.terminal import Grid


def shown(result: StageResult) -> Iterator[Grid | str]:
    """Yield each layer's mean output, the range of its heads, and which of them rest."""
    table = result.tables["norms"]
    table = table[table["key_class"].isna()]
    several = table["kind"].nunique() > 1
    rows = []
    for (kind, layer), own in table.groupby(["kind", "layer"], sort=False):
        relative = own[own["statistic"] == IN_LAYER]
        means = own[own["head"].isna()].set_index("statistic")["value"]
        resting = relative[relative["inactive"] == "yes"]["head"]
        rows.append(
            [
                f"{kind} {layer}" if several else str(layer),
                _number(means[OUTPUT]),
                _number(means[IN_STREAM]),
                f"{_number(relative['value'].min())} to {_number(relative['value'].max())}",
                ", ".join(head_label(layer, head) for head in resting) or "-",
            ]
        )
    columns = [
        ("layer", "left"),
        ("output", "right"),
        ("of the stream", "right"),
        ("heads, of the mean", "right"),
    ]
    yield Grid([*columns, ("resting", "left")], rows)
    yield (
        "output: mean length of what a head adds at a row; of the stream: of what the layer reads there; resting: "
        f"the whole interval below {RESTING:g} of the layer's mean head, at a false discovery rate of 5% over the heads"
    )


def _number(value: float) -> str:
    return "-" if isnan(value) else f"{value:.3g}"
