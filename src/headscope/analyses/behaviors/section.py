"""Behaviors in the page: sentences, the head chosen for each, and every head's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from matplotlib.figure import Figure

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
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
from headscope.reporting.kit.linked_sentences import Sentence
from headscope.reporting.kit.links import linked
from headscope.reporting.kit.report_parts import Context, Section, section
from headscope.reporting.kit.words import capital
from headscope.statistics.measures import NORM
from headscope.views.markup import Html, el

TOPIC = "behaviors"
_TITLE = "Behaviors in text"
_WHY = (
    "Does a head rest on the first token, look back at copies of a token or at what followed them, or gather at "
    "delimiters? Each is measured over the rows in which it can occur."
)
_NATURAL = tuple(BEHAVIORS[name] for name in NATURAL)


def behaviors_findings(about: Context) -> list[Sentence]:
    """Return the sentences, kind by kind; none where behaviors were not measured."""
    found: list[Sentence] = []
    for kind in about.kinds:
        shown = _shown(about, kind.name)
        made = [
            *sentences(shown, TOPIC, where="in text", several=about.several),
            *written_sentence(shown, TOPIC, where="in text", several=about.several),
        ]
        found += [replace(one, kind=kind.name) for one in made]
    return found


def behaviors_section(about: Context) -> list[Section]:
    """Build the section; none where behaviors were not measured."""
    heads = about.run.table("behaviors")
    if heads is None:
        return []
    parts: list[Html | None] = []
    for kind in about.kinds:
        shown = _shown(about, kind.name)
        if not shown:
            continue
        if about.several:
            parts.append(el("h3", capital(kind.name)))
        parts += linked([one for one in about.findings if one.topic == TOPIC and one.kind == kind.name])
        parts.append(best_heads(shown, name=f"table-behaviors-best-{kind.name}", several=about.several))
        grids = inlined(
            about, heads, kind.name, _NATURAL, prefix="behavior", name="behaviors", where="in text"
        )
        written = any(one.written is not None for one in shown)
        key = f"{KEY} {WRITTEN_KEY}" if written else KEY
        parts += [el("div", grids, class_="panels"), el("p", key, class_="caption") if grids else None]
        little = apart(
            heads, kind.name, shown, name=f"table-behaviors-written-{kind.name}", several=about.several
        )
        parts.append(None if little is None else little.html())
        table = every_head(
            heads, kind.name, _NATURAL, name=f"table-behaviors-{kind.name}", several=about.several
        )
        parts.append(table.html())
    captions = (CAPTION, WRITTEN_CAPTION) if NORM in set(heads.get("measure", ())) else (CAPTION,)
    files = files_of(about, heads, _NATURAL, name="behaviors", what="Heads by behaviors")
    return section("behaviors", _TITLE, _WHY, parts, captions=captions, files=files)


def behaviors_figures(about: Context) -> Iterator[tuple[str, Figure]]:
    """Yield the heads by behaviors with the names of their files; none where behaviors were not measured."""
    kinds = [kind.name for kind in about.kinds]
    yield from figures_of(about.run.table("behaviors"), kinds, _NATURAL, prefix="behavior", name="behaviors")


def _shown(about: Context, kind: str) -> list[Shown]:
    heads, best = about.run.table("behaviors"), about.run.table("behaviors_best")
    return [] if heads is None or best is None else shown_of(heads, best, kind, _NATURAL)
