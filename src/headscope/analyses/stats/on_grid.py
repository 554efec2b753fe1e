"""Statistics of what heads write, as what the head grid can be colored by; those of weights it has anyway."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.reporting.kit.head_measures import HeadMeasure, in_head_order
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import capital
from headscope.statistics.measures import NORM, of_measure
from headscope.statistics.statistic_catalog import STATISTICS, Unit

TOPIC = "What it writes of"


def written_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield each statistic that any head has of what it writes; none where that is not known."""
    table = about.run.table("stats")
    if table is None:
        return
    written = of_measure(table, NORM)
    for one in STATISTICS.values():
        rows = written[written["statistic"] == one.name]
        if rows["value"].notna().any():
            yield HeadMeasure(
                name=f"norm {one.name}",
                label=f"{capital(about.words.statistics[one.name])}, by what is written",
                topic=TOPIC,
                unit="" if one.unit is Unit.SHARE else "nats",
                share=one.unit is Unit.SHARE,
                values={
                    kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds
                },
            )
