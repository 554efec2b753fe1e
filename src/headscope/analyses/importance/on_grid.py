"""Gradient importance in the head grid and the scatter of heads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headscope.analyses.importance.figure import MEASURES, NAMES
from headscope.analyses.importance.section import class_names
from headscope.report_kit.head_measures import HeadMeasure, in_head_order
from headscope.report_kit.report_parts import Context

TOPIC = "What the loss depends on"
_UNITS = {"gradient": "nats per unit of weight", "weight_times_gradient": "nats"}


def importance_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield both measures of each class of token that occurs; none where the run measured no importance."""
    table = about.run.table("importance")
    if table is None:
        return
    names = class_names(about.words)
    for measure, (title, _) in MEASURES.items():
        for key_class in NAMES:
            rows = table[(table["measure"] == measure) & (table["key_class"] == key_class)]
            values = {kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds}
            if any(np.isfinite(column).any() for column in values.values()):
                yield HeadMeasure(
                    name=f"importance.{measure}.{key_class}",
                    label=f"{title}: {names[key_class]}",
                    topic=TOPIC,
                    unit=_UNITS[measure],
                    values=values,
                )
