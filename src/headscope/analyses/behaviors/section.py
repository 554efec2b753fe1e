"""Behaviors in the page: sentences, the head chosen for each, and every head's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
from headscope.analyses.behaviors.chosen import BehaviorHead, chosen_heads
from headscope.analyses.behaviors.figure import draw_grids, place_grids
from headscope.analyses.behaviors.findings import behavior_sentences, norm_sentence
from headscope.analyses.behaviors.page_tables import CAPTION, NORM_CAPTION, best_heads, every_head, norm_disagreements
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.links import linked
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.statistics.measures import NORM
from headscope.views.markup import Html

TOPIC = "behaviors"
_TITLE = "Behaviors in text"
_WHY = (
    "Does a head attend to the first token, look back at copies of a token or at what followed them, or gather at "
    "delimiters? Each is measured over the rows in which it can occur."
)
_NATURAL = tuple(BEHAVIORS[name] for name in NATURAL)


def behaviors_findings(about: Context) -> list[Sentence]:
    """Return the sentences, kind by kind; none where behaviors were not measured."""
    return [
        each
        for kind in about.kinds
        for sentences in (behavior_sentences, norm_sentence)
        for each in kind.findings(sentences(_chosen_heads(about, kind.name), kind, TOPIC, where="in text"))
    ]


def behaviors_section(about: Context) -> list[Section]:
    """Build the section; none where behaviors were not measured."""
    heads = about.run.tables.get("behaviors")
    if heads is None:
        return []
    blocks = (block for kind in about.kinds for block in _blocks(about, kind, heads))
    return section("behaviors", _TITLE, _WHY, blocks)


def _blocks(about: Context, kind: Kind, heads: pd.DataFrame) -> Iterator[Html]:
    if chosen := _chosen_heads(about, kind.name):
        by_norm = NORM_CAPTION if NORM in set(heads.get("measure", ())) else ""
        yield from kind.heading()
        yield captioned(linked(about.findings_on(TOPIC, kind=kind)), caption(CAPTION), caption(by_norm))
        yield best_heads(chosen, kind, name=f"table-behaviors-best-{kind.name}", where="in text")
        yield from place_grids(about, FIGURE, kind, chosen, where="in text")
        name = f"table-behaviors-written-{kind.name}"
        if disagreements := norm_disagreements(heads, kind, chosen, name=name):
            yield disagreements.html()
        yield every_head(heads, kind, _NATURAL, name=f"table-behaviors-{kind.name}").html()


FIGURE = Figure(name="behaviors", tables=("behaviors",), draw=partial(draw_grids, _NATURAL, "behaviors"))


def _chosen_heads(about: Context, kind: str) -> list[BehaviorHead]:
    heads, best = about.run.tables.get("behaviors"), about.run.tables.get("behaviors_best")
    return [] if heads is None or best is None else chosen_heads(heads, best, kind, _NATURAL)
