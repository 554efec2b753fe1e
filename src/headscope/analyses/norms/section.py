"""The section on output norms: a figure of attention to sinks against output norms, and a table of all heads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from headscope.analyses.norms.accumulator import INACTIVE_BELOW, KEY_CLASSES
from headscope.analyses.norms.activity import activities
from headscope.analyses.norms.figures import activity_panel
from headscope.analyses.norms.findings import TOPIC
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, OUTPUT, VALUE
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import DASH, ends, percent, rounded, two_decimals
from headscope.report_kit.pictures.drawing import placed_by_kind
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.tables.cells import cell_of, number, rows_by_head
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import Words

TITLE = "How much heads write"
WHY = (
    "A weight says where a head looks, not whether it matters: a head that attends to a token of which it writes "
    "nothing changes nothing. Here is the length of what each head adds to the stream."
)
CAPTION = (
    "A point is a head, in its role’s color and shape. Further right: more attention on sink tokens (the first token, "
    "a separator or a learned sink), as measured. Lower: a smaller output norm; below the dashed line a head writes "
    f"less than {percent(INACTIVE_BELOW)} of what its layer’s mean head does, and is inactive where its whole 95% "
    "interval lies there (false discovery rate 5%). Named are heads on which weights and outputs disagree. Click a "
    "point to open its card."
)
TERMS = (
    ("Output", "the length of the vector that a head adds to the stream at a row, |Σ a f|, with f the value times the "
     "head’s rows of the output projection, averaged over rows; divided by the layer’s mean over heads, or by the "
     "length of what the layer reads at the row"),
    ("Inactive head", f"an output norm below {percent(INACTIVE_BELOW)} of that of the layer’s mean head, the whole "
     "interval, at a false discovery rate of 5% over the heads"),
    ("Value norm", "the mean length of f over the tokens of a class, each token once"),
)  # fmt: skip


def _draw(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        if heads := activities(table, kind):
            yield kind.ending, partial(activity_panel, heads, kind=kind.name, roles=about.roles)


FIGURE = Figure(name="figure-norms", tables=("norms",), draw=_draw)


def norm_section(about: Context) -> list[Section]:
    """Build the section; empty where the run measured no outputs."""
    label = "Weight on the sink and length of the output of each {} head; the table below has them."
    tabulated = partial(head_table, words=about.words)
    blocks = placed_by_kind(about, FIGURE, label, tabulated, CAPTION, topic=TOPIC, class_="panels")
    return section("norms", TITLE, WHY, blocks)


def head_table(table: pd.DataFrame, kind: Kind, words: Words) -> Table:
    """Return a table of every head's output norm, absolute and relative, and the value norms by class of token."""
    of_kind = table[(table["kind"] == kind.name) & table["head"].notna()]
    named = {"cls": words.cls, "sep": words.sep, "period_comma": ". and ,"}
    key_classes = sorted(KEY_CLASSES, key=lambda name: name == "other")  # the class `other` comes last
    classes = [name for name in key_classes if of_kind[of_kind["key_class"] == name]["value"].notna().any()]
    named_rows = of_kind.assign(column=of_kind["key_class"].fillna(of_kind["statistic"]))
    by_head = rows_by_head(named_rows, "column")
    rows = [
        (
            head_label(*head),
            rounded(cells[OUTPUT,]["value"]),
            rounded(cells[IN_LAYER,]["value"]),
            ends(cell_of(cells[IN_LAYER,], "value"), two_decimals, between=" to ", missing=DASH),
            rounded(cells[IN_STREAM,]["value"]),
            *(rounded(cells[name,]["value"]) for name in classes),
        )
        for head, cells in by_head
    ]
    return Table(
        summary=f"Table: the length of what each head writes{kind.in_brackets}",
        groups=(("", 1), ("output", 4), (f"{VALUE.replace('_', ' ')} by class", len(classes))),
        header=(
            "head", "length", "of the layer’s mean", "95% interval", "of the stream",
            *(named.get(name, name.replace("_", " ")) for name in classes),
        ),
        rows=tuple(rows),
        name=f"table-norms-{kind.name}",
        matters=tuple(number(cells[IN_LAYER,]["value"]) for _, cells in by_head),
        first="the longest beside its layer first",
    )  # fmt: skip
