"""Experiments in the page: for each the sentences, the head chosen for each behavior, and every head's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.behaviors.catalog import BEHAVIORS
from headscope.analyses.behaviors.chosen import Shown, shown_of
from headscope.analyses.behaviors.figure import KEY, WRITTEN_KEY, figures_of, files_of, inlined
from headscope.analyses.behaviors.telling import (
    CAPTION,
    WRITTEN_CAPTION,
    apart,
    best_heads,
    every_head,
    sentences,
    written_sentence,
)
from headscope.analyses.experiments.catalog import EXPERIMENTS, Experiment
from headscope.reporting.kit.linked_sentences import Sentence
from headscope.reporting.kit.links import linked
from headscope.reporting.kit.report_parts import Context, Section, section
from headscope.reporting.kit.words import capital
from headscope.statistics.measures import NORM, of_measure
from headscope.views.markup import Html, el

_TITLE = "By experiment"
_WHY = (
    "In text a token may be found in many ways. Where tokens are random and repeated, only an earlier copy says what "
    "comes next; where words are shuffled, what is left does not depend on their order; and where a needle is written "
    "again, it is known from where each token comes."
)  # fmt: skip

_RETRIEVAL = "Retrieval: the token of which the head writes most takes the place of the one it looks at most."


def topic_of(experiment: Experiment) -> str:
    """Return the topic of an experiment's sentences."""
    return f"experiment {experiment.name}"


def experiments_findings(about: Context) -> list[Sentence]:
    """Return the sentences, experiment by experiment, kind by kind; none where none was done."""
    found: list[Sentence] = []
    for experiment in EXPERIMENTS.values():
        for kind in about.kinds:
            shown = _shown(about, experiment, kind.name)
            topic, where = topic_of(experiment), experiment.where
            made = sentences(shown, topic, where=where, several=about.several)
            if experiment.on_cards:
                made += written_sentence(shown, topic, where=where, several=about.several)
            found += [replace(one, kind=kind.name) for one in made]
    return found


def experiments_section(about: Context) -> list[Section]:
    """Build the section; none where no experiment was done."""
    parts = [part for experiment in EXPERIMENTS.values() for part in _part(about, experiment)]
    files = [
        files_of(
            about,
            _rows(about, "experiments", each),
            [BEHAVIORS[name] for name in each.behaviors],
            name=f"behaviors-{each.name}",
            what=each.title,
        )
        for each in _drawn(about)
    ]
    written = (f"{WRITTEN_CAPTION} {_RETRIEVAL}",) if _written(about) else ()
    return section("experiments", _TITLE, _WHY, parts, captions=(CAPTION, *written), files=files)


def experiments_figures(about: Context) -> Iterator[tuple[str, Figure]]:
    """Yield the heads by what they do in each experiment with the names of their files; none where it was not done."""
    kinds = [kind.name for kind in about.kinds]
    for one in _drawn(about):
        behaviors = [BEHAVIORS[each] for each in one.behaviors]
        yield from figures_of(
            _rows(about, "experiments", one),
            kinds,
            behaviors,
            prefix=one.name,
            name=f"behaviors-{one.name}",
        )


def _drawn(about: Context) -> list[Experiment]:
    """Return the experiments that were done, of those that heads are told by."""
    done = {
        each.name
        for each in EXPERIMENTS.values()
        if any(_shown(about, each, kind.name) for kind in about.kinds)
    }
    return [each for each in EXPERIMENTS.values() if each.on_cards and each.name in done]


def _part(about: Context, experiment: Experiment) -> list[Html]:
    parts: list[Html] = []
    for kind in about.kinds:
        shown, heads = _shown(about, experiment, kind.name), _rows(about, "experiments", experiment)
        if not shown or heads is None:
            continue
        title = f"{experiment.title}: {kind.name}" if about.several else experiment.title
        parts += [el("h3", title), el("p", f"{capital(experiment.meaning)}.", class_="caption")]
        topic = topic_of(experiment)
        parts += linked([one for one in about.findings if one.topic == topic and one.kind == kind.name])
        name = f"table-experiment-{experiment.name}-{kind.name}"
        parts.append(best_heads(shown, name=f"{name}-best", several=about.several))
        behaviors = [BEHAVIORS[each] for each in experiment.behaviors]
        if experiment.on_cards:
            grids = inlined(
                about,
                heads,
                kind.name,
                behaviors,
                prefix=experiment.name,
                name=f"behaviors-{experiment.name}",
                where=experiment.where,
            )
            key = f"{KEY} {WRITTEN_KEY}" if any(one.written is not None for one in shown) else KEY
            parts += [el("div", grids, class_="panels"), el("p", key, class_="caption")] if grids else []
            little = apart(heads, kind.name, shown, name=f"{name}-written", several=about.several)
            parts += [] if little is None else [little.html()]
        parts.append(every_head(heads, kind.name, behaviors, name=name, several=about.several).html())
    return parts


def _written(about: Context) -> bool:
    """Whether it is known what heads write."""
    heads = about.run.table("experiments")
    return heads is not None and not of_measure(heads, NORM).empty


def _shown(about: Context, experiment: Experiment, kind: str) -> list[Shown]:
    heads, best = (_rows(about, name, experiment) for name in ("experiments", "experiments_best"))
    if heads is None or best is None:
        return []
    return shown_of(heads, best, kind, [BEHAVIORS[each] for each in experiment.behaviors])


def _rows(about: Context, name: str, experiment: Experiment) -> pd.DataFrame | None:
    table = about.run.table(name)
    return None if table is None else table[table["experiment"] == experiment.name]
