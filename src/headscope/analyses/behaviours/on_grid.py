"""Behaviours by what heads write, as what the head grid can be coloured by; those by weight are what heads show."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.behaviours.catalogue import BEHAVIOURS, NATURAL
from headscope.analyses.behaviours.chosen import heads_of
from headscope.reporting.kit.head_measures import HeadMeasure, in_head_order
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import capital
from headscope.statistics.measures import NORM

TOPIC = "Behaviours by what it writes"


def written_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield each behaviour that can occur; none where it is not known what heads write."""
    heads = about.run.table("behaviours")
    if heads is None:
        return
    written = heads_of(heads, measure=NORM)
    for name in NATURAL:
        one, rows = BEHAVIOURS[name], written[written["behaviour"] == name]
        if rows["value"].notna().any():
            yield HeadMeasure(
                name=f"norm behaviour.{name}",
                label=f"{capital(name)}, by what is written",
                topic=TOPIC,
                unit="tokens" if one.unit == "tokens" else "",
                share=one.unit == "share",
                values={
                    kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds
                },
            )
