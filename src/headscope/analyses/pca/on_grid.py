"""Principal directions in the head grid and the scatter of heads: the effective dimension of each side."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.pca.accumulator import SIDES
from headscope.analyses.pca.figures import TITLES
from headscope.analyses.pca.tables import EFFECTIVE
from headscope.report_kit.head_measures import HeadMeasure, in_head_order
from headscope.report_kit.report_parts import Context

TOPIC = "Directions"


def pca_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield the effective dimension of each side; none where the run did not measure directions."""
    table = about.run.table("pca")
    if table is None:
        return
    for side in SIDES:
        rows = table[(table["vectors"] == side) & (table["statistic"] == EFFECTIVE)]
        if rows["value"].notna().any():
            yield HeadMeasure(
                name=f"pca.{side}.{EFFECTIVE}",
                label=f"Directions of its {TITLES[side]}",
                topic=TOPIC,
                unit="directions",
                values={
                    kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds
                },
            )
