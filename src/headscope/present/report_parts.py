"""An analysis's contributions to report and atlas: sentences, sections, figures, terms, head functions, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib.figure
import pandas as pd

from headscope.present.head_functions import FunctionScores, HeadFunction, HeadLook
from headscope.present.kinds import Kind, kinds_of
from headscope.present.linked_sentences import HeadRef, Sentence
from headscope.present.study import Study
from headscope.present.words import Words, count, plain, words_for
from headscope.views.markup import Html, el

Term = tuple[str, str]
Drawing = Callable[[], matplotlib.figure.Figure]
"""Draws one file of a figure."""
GROUPS: Mapping[str, str] = {
    "where": "Where heads look",
    "what": "What heads do",
    "controlled": "Controlled inputs",
    "syntax": "Syntax and coreference",
    "alike": "Which heads are alike",
    "worth": "What heads are worth",
}
"""The groups of the page in their order, each with its heading. Every analysis belongs to one."""


@dataclass(frozen=True)
class Context:
    """The inputs of every part of a report.

    Attributes:
        run: the run's manifest and tables.
        kinds: the run's kinds of attention.
        words: names of the model's tokens.
        findings: the report's sentences, once they are written.
    """

    run: Study
    kinds: tuple[Kind, ...]
    words: Words
    findings: Sequence[Sentence] = ()

    @classmethod
    def of(cls, run: Study) -> Context:
        """Build the context of a run."""
        return cls(run=run, kinds=kinds_of(run), words=words_for(run.manifest))

    @property
    def roles(self) -> pd.DataFrame | None:
        """The role of each head, `Study.roles`; None for a run without statistics."""
        return self.run.roles if "stats" in self.run.tables else None

    @property
    def decoder_only(self) -> bool:
        """True if the model has decoder attention only."""
        return {kind.name for kind in self.kinds} == {"decoder"}

    def kind(self, name: str) -> Kind:
        """Return the kind of attention with this name."""
        return next(kind for kind in self.kinds if kind.name == name)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page.

    Attributes:
        name: name in the section's address.
        title: title in the contents list.
        html: the section itself.
    """

    name: str
    title: str
    html: Html


def section(name: str, title: str, why: str, parts: Iterable[Html | None]) -> list[Section]:
    """Put a section together: its heading, the question that it answers, its parts.

    Args:
        name: name in the section's address.
        title: its heading, also in the contents list.
        why: the question, in a sentence or two.
        parts: contents of the section, in order; `captions.captioned` adds an explanation to a part.

    Returns:
        A list with the section; an empty list if there are no parts.
    """
    parts = list(parts)
    if not parts:
        return []
    html = el("section", el("h2", title), el("p", why, class_="why"), parts, id=f"section-{name}")
    return [Section(name=name, title=title, html=html)]


def corpus_line(corpus: Mapping[str, Any] | None, unit: str) -> tuple[str, ...]:
    """Return a corpus of the manifest with its size, `litbank, 1,630 windows`; empty if the run has none."""
    of = corpus or {}
    size = count(int(of[f"{unit}s"]), unit) if f"{unit}s" in of else ""
    said = ", ".join(part for part in (plain(of.get("name", "")), size) if part)
    return (said,) if said else ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: its files for a paper, and its pictures in the page, placed by a section.

    Attributes:
        name: first part of its file names.
        tables: tables that it is drawn from; a run that lacks one of them has no such figure.
        draw: yields the ending of the file name (the kind of attention, the probe; empty for the first) and the
            drawing function of each file, given the run and these tables. Files with one ending are numbered pages.
    """

    name: str
    tables: tuple[str, ...]
    draw: Callable[..., Iterable[tuple[str, Drawing]]]

    def drawings(self, about: Context) -> dict[str, Drawing]:
        """Return the drawing function of each file, by file name; empty if there is nothing to draw."""
        tables = [about.run.tables.get(name) for name in self.tables]
        if any(table is None for table in tables):
            return {}
        pages: Counter[str] = Counter()
        drawings = {}
        for ending, drawing in self.draw(about, *tables):
            pages[ending] += 1
            page = f"-{pages[ending]}" if pages[ending] > 1 else ""
            drawings[f"{self.name}{ending}{page}"] = drawing
        return drawings


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The contributions of an analysis.

    Attributes:
        findings: its sentences.
        sections: its sections, in order; none if the run has nothing to show in them.
        figures: its figures.
        terms: definitions of its numbers, for the list of definitions, or a function that returns them.
        explained: tables that its terms describe; a run that has none of them needs no definition.
        group: group of the page that its sections belong to, a key of `GROUPS`.
        headline: topics that may appear on the first screen; the lowest number comes first.
        decoder_headline: the same for models with decoder attention only, for topics that come earlier there.
        read: descriptions of its input, a few words each, for the page's first line.
        closing: HTML after its sections and the table of all heads.
        functions: the functions that it looked for in heads, with the numbers of every head.
        known_functions: functions that it looks for in any run, so that a search knows them even if this run did not.
        arcs: its table of sentences on which heads find a relation, with gold arcs; empty if it has none.
        role: the color of the functions that it finds in heads.
        behavior_examples: its sentences on which heads show a behavior: a head, the `behavior`, its `value` and `on`,
            the input that the value refers to, `role` (a color), `tokens`, `weights`, the clearest `queries` and their
            `keys`, `text`.
        head_sentences: a sentence for each head of a kind, by head index, for cards of heads without another name.
        card_lines: a line for each head of a kind about its effect on the model, by head index, for its card.
        card_sentences: further sentences for the card of each head of a kind, by head index.
        circuit: arcs of the circuit map between heads of a kind, the largest share first: index of the source, index of
            the head that it draws, side (`key` or `query`), share and the ends of its interval, None without one.
        looks: attention targets of each head of a kind, by head index; empty if the run has no such data.
        cards: its additions to the atlas's cards of the heads of a kind, by name.
        needed: contents of cards that a run may lack: name -> (source table, instruction to get it).
    """

    findings: Callable[[Context], list[Sentence]] = lambda _: []
    sections: Callable[[Context], list[Section]] = lambda _: []
    figures: Sequence[Figure] = ()
    terms: Sequence[Term] | Callable[[Context], Sequence[Term]] = ()
    explained: tuple[str, ...] = ()
    group: str = "what"
    headline: Mapping[str, int] = field(default_factory=dict)
    decoder_headline: Mapping[str, int] = field(default_factory=dict)
    read: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: ()
    closing: Callable[[Context], Sequence[Html]] = lambda _: ()
    functions: Callable[[Study], Sequence[FunctionScores]] = lambda _: ()
    known_functions: Sequence[HeadFunction] = ()
    arcs: str = ""
    role: str = ""
    behavior_examples: Callable[[Study], pd.DataFrame | None] = lambda _: None
    head_sentences: Callable[[Study, Kind], Mapping[int, str]] = lambda _, __: {}
    card_lines: Callable[[Study, Kind], Mapping[int, str]] = lambda _, __: {}
    card_sentences: Callable[[Study, Kind], Mapping[int, Sequence[Sentence]]] = lambda _, __: {}
    circuit: Callable[[Study, Kind], Sequence[Sequence[Any]]] = lambda _, __: ()
    looks: Callable[[Study, Kind], Mapping[int, HeadLook]] = lambda _, __: {}
    cards: Callable[[Study, Kind], Mapping[str, Any]] = lambda _, __: {}
    needed: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def linked(sentences: Sequence[Sentence], *, tag: str = "p", class_: str | None = "finding") -> list[Html]:
    """Return sentences with each head linked to its card; sentences that continue another share its paragraph."""
    paragraphs: list[list[Sentence]] = []
    for each in sentences:
        if each.goes_on and paragraphs:
            paragraphs[-1].append(each)
        else:
            paragraphs.append([each])
    return [el(tag, _text_of(paragraph), class_=class_) for paragraph in paragraphs]


def _text_of(paragraph: Sequence[Sentence]) -> list[Html | str]:
    out: list[Html | str] = []
    for each in paragraph:
        out += [" "] if out else []
        out += [part.link if isinstance(part, HeadRef) else part for part in each.parts]
    return out
