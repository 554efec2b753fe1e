"""Distributions in the head grid and the scatter of heads: the median and the ninth decile of each measure."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.distribution.row_measures import MEASURES
from headscope.report_kit.head_measures import HeadMeasure, in_head_order
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import capital

TOPIC = "Over all its rows"
DECILES = {5: "median", 9: "9th decile"}
_UNITS = {"share": "", "nats": "nats", "tokens": "tokens"}


def decile_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield both deciles of each measure that any head has; none where the run did not measure distributions."""
    table = about.run.table("distribution")
    if table is None:
        return
    for name, measure in MEASURES.items():
        for decile, says in DECILES.items():
            rows = table[(table["measure"] == name) & (table["decile"] == decile)]
            if rows["value"].notna().any():
                yield HeadMeasure(
                    name=f"distribution.{name}.decile_{decile}",
                    label=f"{capital(measure.label)}, {says}",
                    topic=TOPIC,
                    unit=_UNITS.get(measure.unit, "units of length"),
                    share=measure.unit == "share",
                    values={
                        kind.name: in_head_order(rows[rows["kind"] == kind.name], kind)
                        for kind in about.kinds
                    },
                )
