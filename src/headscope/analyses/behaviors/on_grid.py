"""Norm-weighted behaviors, by which the head grid can be colored; those by weight are among what heads show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, Behavior
from headscope.analyses.behaviors.chosen import heads_of
from headscope.analyses.behaviors.on_cards import IN_TEXT
from headscope.report_kit.head_measures import HeadMeasure, in_head_order
from headscope.report_kit.report_parts import Context
from headscope.report_kit.showings import Showable
from headscope.report_kit.words import capital
from headscope.statistics.measures import NORM

TOPIC = "Behaviors by what it writes"


def norm_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield each norm-weighted behavior in text that can occur; none where that is not known."""
    heads = about.run.table("behaviors")
    if heads is not None:
        wanted = [(BEHAVIORS[name], what) for name, what in IN_TEXT.items()]
        yield from measures_by_norm(about, heads, wanted, topic=TOPIC)


def measures_by_norm(
    about: Context, heads: pd.DataFrame, wanted: Sequence[tuple[Behavior, Showable]], *, topic: str
) -> Iterator[HeadMeasure]:
    """Yield the norm-weighted behaviors that can occur; none where that is not known.

    Args:
        about: says which kinds of attention there are.
        heads: every head's numbers, as `layout.heads_table` lays them out, with `model`.
        wanted: which, and what each is called by weight.
        topic: what stands above them.
    """
    written = heads_of(heads, measure=NORM)
    for behavior, what in wanted:
        rows = written[written["behavior"] == behavior.name]
        if rows["value"].notna().any():
            yield HeadMeasure(
                name=f"{what.name}.{NORM}",
                label=f"{capital(what.label)}, norm-weighted",
                topic=topic,
                unit=what.unit,
                share=not what.unit,
                values={
                    kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds
                },
            )
