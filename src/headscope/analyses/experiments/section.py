"""Experiments in the page: sentences, the head chosen for each behavior, and every head's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from headscope.analyses.behaviors.figure import draw_grids, place_grids
from headscope.analyses.behaviors.page_tables import CAPTION, best_heads, every_head, norm_disagreements
from headscope.analyses.experiments.catalog import EXPERIMENTS, Experiment
from headscope.analyses.experiments.findings import heads_of_experiment, rows_of_experiment, topic_of
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.links import linked
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.words import capital
from headscope.views.markup import Html, el

_TITLE = "Controlled inputs"
_WHY = (
    "In text a token may be found in many ways. Where tokens are random and repeated, only an earlier copy says what "
    "comes next; where words are shuffled, what is left does not depend on their order; and where a needle is written "
    "again, it is known from where each token comes."
)  # fmt: skip

_RETRIEVAL = (
    "Of what it writes: the token of which the head writes most in place of the one it looks at most. Uniform: a key "
    "drawn at random."
)


def experiments_section(about: Context) -> list[Section]:
    """Build the section; none where no experiment was done."""
    blocks: list[Html] = []
    for experiment in EXPERIMENTS.values():
        # The caption that holds for all tables is given with the first.
        blocks += _blocks(about, experiment, note="" if blocks else CAPTION)
    return section("experiments", _TITLE, _WHY, blocks)


def _draw(experiment: Experiment, about: Context, heads: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the head grids of an experiment's behaviors."""
    if any(heads_of_experiment(about, experiment, kind.name) for kind in about.kinds):
        heads = heads[heads["experiment"] == experiment.name]
        yield from draw_grids(experiment.measured, f"experiments.{experiment.name}", about, heads)


FIGURES = {
    name: Figure(name=f"behaviors-{name}", tables=("experiments",), draw=partial(_draw, experiment))
    for name, experiment in EXPERIMENTS.items()
    if experiment.on_cards
}


def _blocks(about: Context, experiment: Experiment, *, note: str) -> Iterator[Html]:
    """Yield the blocks of an experiment, kind by kind; `note` becomes one of its captions."""
    notes = [caption(f"{capital(experiment.meaning)}."), caption(note)]
    if "retrieval" in experiment.behaviors:
        notes.append(caption(_RETRIEVAL))
    heads = rows_of_experiment(about, "experiments", experiment)
    for kind in about.kinds:
        chosen = heads_of_experiment(about, experiment, kind.name)
        if not chosen or heads is None:
            continue
        name = f"table-experiment-{experiment.name}-{kind.name}"
        yield el("h3", f"{experiment.title}: {kind.name}" if kind.prefix else experiment.title)
        yield captioned(linked(about.findings_on(topic_of(experiment), kind=kind)), *notes)
        yield best_heads(chosen, kind, name=f"{name}-best", where=experiment.where)
        if experiment.on_cards:
            yield from place_grids(about, FIGURES[experiment.name], kind, chosen, where=experiment.where)
            if disagreements := norm_disagreements(heads, kind, chosen, name=f"{name}-written"):
                yield disagreements.html()
        yield every_head(heads, kind, experiment.measured, name=name).html()
