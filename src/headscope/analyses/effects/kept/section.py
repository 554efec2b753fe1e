"""The effects that explanations keep in the report: a figure, and a table of all replacements."""

from __future__ import annotations

from math import nan

import pandas as pd

from headscope.analyses.effects.kept.accumulator import REPLACEMENTS
from headscope.analyses.effects.kept.figure import draw_kept
from headscope.analyses.effects.kept.findings import TOPIC
from headscope.analyses.effects.kept.rows import Replaced, explained_shares, replaced_of
from headscope.analyses.effects.kept.tables import ADDED
from headscope.analyses.effects.loss_line import loss_line
from headscope.analyses.effects.nats import nats_cell
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import kind_link, linked
from headscope.report_kit.numbers import DASH, ends, formatted
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.report_kit.tables.page_rows import Table
from headscope.views.markup import Html, el

WHY = (
    "A prediction is no cause. Here the attention of each head, each layer and the whole model is replaced by what "
    "explains it, as other documents fitted it, and the loss is compared with that of uniform attention."
)
CAPTION = (
    "A point is a head, in its role’s color and shape: the share of its attention that is explained, and the share of "
    "its effect that is kept when its attention is replaced by the explanation, with its 95% interval. On the "
    "diagonal both are the same. Heads whose uniform attention is not shown to cost anything have no point. Click a "
    "point to open its card."
)
TERMS = (
    ("Effect kept", "(L_uniform - L_explained) / (L_uniform - L), where L is the loss, and the others are those with a "
     "head’s attention replaced by uniform attention and by what its explanation predicts; values stay. 1 where the "
     "explanation does as well as the attention, 0 where no better than uniform attention; it can be negative. Given "
     "where the interval of the denominator is above 0, with Fieller’s interval over documents"),
)  # fmt: skip
FIGURE = Figure(name="figure-effect-kept", tables=("effect_kept", "explanation"), draw=draw_kept)


def kept_section(about: Context) -> list[Section]:
    """Build the section; none where the run replaced no attention."""
    table = about.run.tables.get("effect_kept")
    if table is None or not len(table):
        return []
    blocks: list[Html | None] = [*linked(about.findings_on(TOPIC))]
    for kind in about.kinds:
        label = f"The effect that the explanation of each {kind.name} head keeps; the table below has the numbers."
        picture = placed(about, FIGURE, label, ending=kind.ending)
        blocks += kind.heading()
        if picture:
            blocks.append(
                captioned(
                    el("div", picture, class_="panels"),
                    caption(CAPTION),
                    caption(loss_line(about.run.manifest, "effect_kept")),
                    kind_link(about, FIGURE, kind, "This figure"),
                )
            )
        blocks.append(kept_table(about, table, kind).html())
    return section("effect-kept", "Is the explanation the cause?", WHY, blocks)


def kept_table(about: Context, table: pd.DataFrame, kind: Kind) -> Table:
    """Tabulate the added loss of each replacement, layers first, and the effect that explanations keep."""
    shares = explained_shares(about.run, kind)
    of_kind = [each for each in replaced_of(table) if each.kind == kind.name]
    ordered = sorted(of_kind, key=lambda each: each.head is not None)
    rows = [(each.label, *kept_cells(each, shares.get((each.layer or 0, each.head or 0), nan))) for each in ordered]
    return Table(
        summary=f"Table: the loss with attention replaced, in nats, and the effect kept{kind.in_brackets}",
        groups=(("", 1), ("added loss", 3), ("effect kept", 2), ("attention", 1)),
        header=("replaced", *REPLACEMENTS, "%", "95% interval", "explained %"),
        rows=tuple(rows),
        name=f"table-effect-kept-{kind.name}",
        matters=tuple(each.cells[next(iter(ADDED))].value for each in ordered),
        first="the costliest uniform attention first",
    )


def kept_cells(each: Replaced, explained: float, *, missing: str = DASH) -> tuple[str, ...]:
    """Return numbers as text: three added losses, the effect kept with its interval, the explained share.

    Args:
        each: replaced heads.
        explained: explained share of the head's attention; NaN for several heads.
        missing: replacement for a missing number; `HYPHEN` for a terminal.
    """

    def share(value: float) -> str:
        return formatted(100 * value, ".0f", missing=missing)

    kept = each.kept
    return (
        *(nats_cell(each.cells[name].value, missing=missing) for name in ADDED),
        share(kept.value if kept.has_interval else nan),
        ends(kept, share, between=" to ", missing=missing),
        share(explained),
    )
