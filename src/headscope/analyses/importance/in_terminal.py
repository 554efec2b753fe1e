"""Gradient importance in the terminal: the layers' means."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.importance.accumulator import GATE, MEASURES
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import kind_prefixes
from headscope.report_kit.loss_words import loss_words
from headscope.report_kit.numbers import HYPHEN, formatted
from headscope.report_kit.tables.terminal import Grid

_NAMES = {"cls": "cls", "sep": "sep", "period_comma": ". ,", "other": "other"}


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield the layers' means: both measures by class of token, and the gate estimate."""
    table = result.tables["importance"]
    means = table[table["head"].isna()]
    prefix = kind_prefixes(means["kind"])
    first, *others = _NAMES.values()
    titles = ("layer", f"gradient: {first}", *others, f"w x gradient: {first}", *others, GATE)
    grid_rows = []
    for (kind, layer), rows in means.groupby(["kind", "layer"], sort=False):
        value = rows.set_index(rows["measure"] + "." + rows["key_class"].fillna(""))["value"]
        columns = [f"{measure}.{name}" for measure in MEASURES for name in _NAMES]
        cells = [formatted(1000 * value[column], "#.3g", missing=HYPHEN) for column in (*columns, f"{GATE}.")]
        grid_rows.append([f"{prefix[kind]}{layer}", *cells])
    yield Grid(titles, grid_rows)
    facts = result.facts["importance"]
    words = loss_words(facts, how="on average over", noun="segment")
    yield (
        f"loss {facts['loss']}: {words}; mean over heads, in thousandths: |d loss / d weight|, and that times the "
        "weight; by class of the token attended to; gate: |d loss / d gate| of all that a head writes"
    )
