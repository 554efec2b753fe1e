"""Statistics of norm-weighted attention, by which the head grid can be colored; it has those of weights anyway."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.report_kit.head_measures import HeadMeasure, in_head_order
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import capital
from headscope.statistics.measures import NORM, of_measure
from headscope.statistics.statistic_catalog import STATISTICS, Unit

TOPIC = "Norm-weighted attention"


def norm_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield each statistic of norm-weighted attention that any head has; none where that is not known."""
    table = about.run.table("stats")
    if table is None:
        return
    written = of_measure(table, NORM)
    for statistic in STATISTICS.values():
        rows = written[written["statistic"] == statistic.name]
        if rows["value"].notna().any():
            yield HeadMeasure(
                name=f"stats.{statistic.name}.{NORM}",
                label=f"{capital(about.words.statistics[statistic.name])}, norm-weighted",
                topic=TOPIC,
                unit="" if statistic.unit is Unit.SHARE else "nats",
                share=statistic.unit is Unit.SHARE,
                values={
                    kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds
                },
            )
