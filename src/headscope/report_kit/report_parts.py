"""What an analysis adds to the report and the atlas: sentences, sections, figures, terms, what its heads find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib.figure
import pandas as pd

from headscope.report_kit.head_functions import FunctionScores, HeadFunction
from headscope.report_kit.head_looks import HeadLook
from headscope.report_kit.kinds import Kind, kinds_of
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.words import Words, count, plain, words_for
from headscope.study.study import Study
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
"""The groups of the page in their order, each with its heading: every analysis belongs to one."""


@dataclass(frozen=True)
class Context:
    """What every part of a report is made from.

    Attributes:
        run: its manifest and tables.
        kinds: its kinds of attention.
        words: what its model's tokens are called.
        findings: the sentences, once they are made.
        links: whether figures lie beside the page.
        pictures: these figures as SVG, by the names of their files, where they were drawn.
    """

    run: Study
    kinds: tuple[Kind, ...]
    words: Words
    findings: Sequence[Sentence] = ()
    links: bool = False
    pictures: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Study) -> Context:
        """Read what a run has."""
        return cls(run=run, kinds=kinds_of(run), words=words_for(run.manifest))

    @property
    def roles(self) -> pd.DataFrame | None:
        """The role of each head, `Study.roles`; None in a run without statistics."""
        return self.run.roles if "stats" in self.run.tables else None

    def kind(self, name: str) -> Kind:
        """Return the kind of attention of this name."""
        return next(kind for kind in self.kinds if kind.name == name)

    def findings_on(self, *topics: str, kind: Kind | None = None) -> list[Sentence]:
        """Return the sentences on these topics, of one kind those on it and on the model as a whole."""
        kinds = None if kind is None else ("", kind.name)
        return [each for each in self.findings if each.topic in topics and (kinds is None or each.kind in kinds)]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page.

    Attributes:
        name: in its address.
        title: in the contents list.
        html: the section itself.
    """

    name: str
    title: str
    html: Html


def section(name: str, title: str, why: str, parts: Iterable[Html | None]) -> list[Section]:
    """Put a section together: its heading, why it is there, its parts.

    Args:
        name: in its address.
        title: its heading, also in the contents list.
        why: the question, in a sentence or two.
        parts: what it shows, in order; `captions.captioned` puts what explains a part beside it.

    Returns:
        The section alone; none where there are no parts.
    """
    parts = list(parts)
    if not parts:
        return []
    html = el("section", el("h2", title), el("p", why, class_="why"), parts, id=f"section-{name}")
    return [Section(name=name, title=title, html=html)]


def corpus_line(corpus: Mapping[str, Any] | None, unit: str) -> tuple[str, ...]:
    """Name a corpus of the manifest with its size, `litbank, 1,630 windows`; nothing where the run has none."""
    of = corpus or {}
    size = count(int(of[f"{unit}s"]), unit) if f"{unit}s" in of else ""
    said = ", ".join(part for part in (plain(of.get("name", "")), size) if part)
    return (said,) if said else ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: its files beside the page and in a paper, and its pictures in the page, where a section places it.

    Attributes:
        name: begins the names of its files.
        tables: that it is drawn from; a run that lacks one of them has no such figure.
        draw: yields for each file, from the run and these tables, what its name ends in (the kind of attention, the
            probe; empty for the first) and what draws it. Files with the same ending are pages, which are numbered.
    """

    name: str
    tables: tuple[str, ...]
    draw: Callable[..., Iterable[tuple[str, Drawing]]]

    def drawings(self, about: Context) -> dict[str, Drawing]:
        """Return what draws each file, by its name; none where there is nothing to draw."""
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
    """What an analysis adds.

    Attributes:
        findings: its sentences.
        sections: its sections, in order; none where the run has nothing to show in them.
        figures: its figures.
        terms: what its numbers mean, for the list of definitions.
        explained: tables that its terms speak of; a run that has none of them needs no definition.
        group: of the page that its sections belong to, of `GROUPS`.
        headline: which of its topics may stand on the first screen; the lowest number comes first.
        decoder_headline: the same where the model has no attention but a decoder's, for topics that come earlier there.
        read: what it read, in a few words each, for the page's first line.
        closing: what stands after its sections and the table of all heads.
        functions: what it looked for in heads, with the numbers of every head.
        known_functions: what it looks for in any run, so that a search understands it where this one did not.
        arcs: its table of sentences on which heads find something, with gold arcs; empty where it has none.
        role: the color of what its heads find.
        behavior_examples: its sentences on which heads show a behavior: a head, the `behavior`, `value` and what that
            is `on`, `role` (a color), `tokens`, `weights`, the clearest `queries` and their `keys`, `text`.
        head_sentences: a sentence for each head of a kind, by the head's index, for cards whose head has no other name.
        card_lines: a line for each head of a kind on what it does to the model, by the head's index, for its card.
        looks: what each head of a kind looks at, by the head's index; none where the run does not know.
        cards: what it adds to the atlas's cards of the heads of a kind, by name.
        needed: what a run may lack of the cards: name -> (the table it is made of, what to do for it).
    """

    findings: Callable[[Context], list[Sentence]] = lambda _: []
    sections: Callable[[Context], list[Section]] = lambda _: []
    figures: Sequence[Figure] = ()
    terms: Sequence[Term] = ()
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
    looks: Callable[[Study, Kind], Mapping[int, HeadLook]] = lambda _, __: {}
    cards: Callable[[Study, Kind], Mapping[str, Any]] = lambda _, __: {}
    needed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
