"""Norm-weighted behaviors in experiments, by which the head grid can be colored."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.behaviors.on_grid import measures_by_norm
from headscope.analyses.experiments.on_cards import ON_CARDS
from headscope.report_kit.head_measures import HeadMeasure
from headscope.report_kit.report_parts import Context

TOPIC = "Controlled inputs, norm-weighted"


def norm_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield the behaviors of each experiment that was done; none where norm-weighted attention is not known."""
    heads = about.run.table("experiments")
    for name, wanted in ON_CARDS.items() if heads is not None else ():
        assert heads is not None
        yield from measures_by_norm(about, heads[heads["experiment"] == name], wanted, topic=TOPIC)
