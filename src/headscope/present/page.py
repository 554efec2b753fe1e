"""The page of an analysis, made from its facts and its template: sections, figures, terms, and lines for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from headscope.models.anatomy import KindLayout
from headscope.present.blocks import (
    Block,
    CaptionBlock,
    CardBlock,
    ChartBlock,
    FactBlock,
    FigureBlock,
    HeadingBlock,
    HtmlBlock,
    NoteBlock,
    PageBlocks,
    Row,
    TableBlock,
)
from headscope.present.charts import CHARTS
from headscope.present.drawing import placed
from headscope.present.facts import CardFact, Fact
from headscope.present.filters import Mark, parts_of
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import Sentence
from headscope.present.page_tables import Grid, caption, captioned
from headscope.present.report_parts import Context, Drawing, Figure, Parts, Section, linked, section
from headscope.present.study import Study
from headscope.present.table import html_of, terminal_table
from headscope.present.template import Template
from headscope.present.values import once_a_study
from headscope.present.words import capital
from headscope.views.markup import Html, el


@dataclass(frozen=True)
class Page:
    """The page of an analysis.

    Attributes:
        module: name of the module that holds its facts; `page.j2` lies in the same folder.
        facts: yields the claims that a run supports; empty for a run without the analysis's tables.
        uses: functions that the template names, and classes of facts of other modules.
        figures: figures that the template names, besides its charts.
        finds: function that returns True if a table row matches the user's search words; None without a search.
        macros: package whose file `macros.j2` has words that the template shares with another; empty for none.
    """

    module: str
    facts: Callable[[Context], Iterable[Fact]]
    uses: tuple[Callable[..., Any] | type[Fact], ...] = ()
    figures: tuple[Figure, ...] = ()
    finds: Callable[[Row, str], bool] | None = None
    macros: str = ""

    @cached_property
    def template(self) -> Template:
        """The template, read and checked when it is first used."""
        return Template(sys.modules[self.module], self.uses, macros=self.macros)

    def parts(self, *, figures: Sequence[Figure] = (), **more: Any) -> Parts:
        """Return the analysis's parts of the report.

        Args:
            figures: figures besides those that the template names.
            more: further fields of `Parts`.
        """
        ranked = [fact for fact in self.template.facts.values() if fact.rank]
        if self.template.facts:
            more["findings"] = self.findings
        if any(issubclass(fact, CardFact) for fact in self.template.facts.values()):
            more["card_sentences"] = self.card_sentences
        return Parts(
            sections=self.sections,
            figures=(*self._figures.values(), *figures),
            terms=self.terms,
            headline={fact.topic: fact.rank for fact in ranked},
            decoder_headline={fact.topic: fact.decoder_rank for fact in ranked if fact.decoder_rank},
            **more,
        )

    @cached_property
    def filled(self) -> Callable[[Study], PageBlocks]:
        """The function that returns the blocks of a run, which are made once."""

        def fill(run: Study) -> PageBlocks:
            about = Context.of(run)
            return self.template.fill(about, list(self.facts(about)))

        return once_a_study(fill)

    def findings(self, about: Context) -> list[Sentence]:
        """Return the sentences, those of a model's first kind of attention first."""
        every = [each for block in self.filled(about.run).each(FactBlock) for each in block.sentences]
        order = ["", *(kind.name for kind in about.kinds)]
        return sorted(every, key=lambda each: order.index(each.kind))

    def card_sentences(self, run: Study, kind: Kind) -> dict[int, list[Sentence]]:
        """Return the sentences for the card of each head of a kind, by head index."""
        sentences: dict[int, list[Sentence]] = {}
        for block in self.filled(run).each(CardBlock):
            for head, each in block.sentences:
                if head.kind == kind.name:
                    sentences.setdefault(kind.head_index(head.layer, head.head), []).append(each)
        return sentences

    def terms(self, about: Context) -> Sequence[tuple[str, str]]:
        """Return the definitions of its terms."""
        return self.filled(about.run).terms

    def sections(self, about: Context) -> list[Section]:
        """Return the sections; a section without a sentence, chart or table is left out."""
        return self._sections(about, closing=False)

    def closing(self, about: Context) -> list[Html]:
        """Return the sections that the template puts at the end of the page."""
        return [each.html for each in self._sections(about, closing=True)]

    def _sections(self, about: Context, *, closing: bool) -> list[Section]:
        return [
            part
            for each in self.filled(about.run).sections
            if each.closing == closing
            for part in section(each.name, each.title, each.why, _html(each.blocks, about, self._figures))
        ]

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        charts = [
            Figure(name=name, tables=(), draw=partial(self._drawings, name)) for name in self.template.chart_names
        ]
        return {figure.name: figure for figure in (*charts, *self.figures)}

    def _drawings(self, name: str, about: Context) -> Iterator[tuple[str, Drawing]]:
        for block in self.filled(about.run).each(ChartBlock):
            if block.name == name and block.rows(about):
                yield block.ending, partial(block.draw, CHARTS[block.form], about)

    def check(self, layout: Sequence[KindLayout], **shown: Any) -> None:
        """Refuse display options that a model cannot satisfy, before anything is measured; here all can be satisfied.

        Args:
            layout: heads of the model.
            **shown: display options, as `terminal` takes them.
        """

    def terminal(self, run: Study, *, find: str | None = None) -> Iterator[Grid | str]:
        """Yield the sentences, the tables for a terminal (`TableBlock.terminal`), and the definitions.

        Args:
            run: the run.
            find: words; only rows of tables that have them are shown. None for all rows.
        """
        about = Context.of(run)
        filled = self.filled(run)
        for each in self.findings(about):
            yield f"  {each.text}" if each.goes_on else f"- {each.text}"
        finds = self.finds
        keep = None if find is None or finds is None else lambda row: finds(row, find)
        blocks = filled.each(TableBlock)
        tables = [(block, table) for block in blocks if (table := terminal_table(block, about, keep=keep)) is not None]
        if any(block.terminal or block.complete for block, _ in tables):
            chosen = [each for index, each in enumerate(tables) if index == 0 or each[0].terminal or each[0].complete]
        else:
            chosen = [each for each in tables if each[0].unfolded] or tables[:1]
        for index, (_, (title, grid)) in enumerate(chosen):
            yield ""
            yield from () if index else _captions_above_table(filled)
            yield title
            yield grid
        yield ""
        yield from (f"{name}: {meaning}" for name, meaning in filled.terms)


def _captions_above_table(filled: PageBlocks) -> Iterator[str]:
    """Yield the captions before the first table, except those that refer to colored marks of the page."""
    for block in (block for each in filled.sections for block in each.blocks):
        if isinstance(block, TableBlock):
            return
        if isinstance(block, CaptionBlock) and all(isinstance(part, str) for part in parts_of(block.text)):
            yield block.text


def _html(blocks: Sequence[Block], about: Context, figures: Mapping[str, Figure]) -> list[Html]:
    """Return the blocks as HTML; sentences that the page has shown above are left out."""
    out: list[Html] = []
    headings: list[tuple[str, Html]] = []  # with their tags; a heading without anything below it is left out
    group: list[Html] = []  # what a caption belongs to
    captions: list[Html | None] = []
    has_content = False  # a caption is dropped if its group is empty: all its sentences were already shown above

    def close() -> None:
        nonlocal headings, group, captions, has_content
        if shown := [captioned(group, *captions)] if has_content and any(captions) else group:
            out.extend([*(heading for _, heading in headings), *shown])
            headings = []
        group, captions, has_content = [], [], False

    for block in blocks:
        if captions and not isinstance(block, CaptionBlock):
            close()
        match block:
            case HeadingBlock():
                close()
                # A heading replaces earlier headings of its level (and their notes) below which nothing was added.
                level = next((index for index, (tag, _) in enumerate(headings) if tag >= block.tag), len(headings))
                headings = [*headings[:level], (block.tag, el(block.tag, capital(block.text)))]
            case FactBlock():
                has_content = True
                group += linked([each for each in block.sentences if each in about.findings])
            case NoteBlock():
                close()
                headings.append(("", el("p", block.text, class_="why")))
            case CaptionBlock():
                captions.append(_caption(block.text))
            case TableBlock():
                if (table := html_of(block, about)) is not None:
                    has_content = True
                    group.append(table)
            case ChartBlock() | FigureBlock() | HtmlBlock():
                close()
                drawn = _drawn(block, about, figures)
                group += [] if drawn is None else [drawn]
                close()
    close()
    return out


def _drawn(block: ChartBlock | FigureBlock | HtmlBlock, about: Context, figures: Mapping[str, Figure]) -> Html | None:
    """Return a chart or another drawn part with its captions; None if there is nothing to draw."""
    drawn: Html | list[Html] | None
    if isinstance(block, HtmlBlock):
        drawn, key = block.read(about), block.key() if block.key else None
    else:
        pictures = placed(about, figures[block.name], block.alt, ending=block.ending)
        drawn, key = el("div", pictures, class_="panels") if pictures else None, None
    notes = [note for note in (_caption(block.caption), key) if note]
    return captioned(drawn, *notes) if drawn is not None and notes else drawn


def _caption(text: str) -> Html | None:
    """Return a caption with its marks in their colors."""
    parts = (el("b", part.text, class_=part.class_) if isinstance(part, Mark) else
             part if isinstance(part, str) else part.text for part in parts_of(text))  # fmt: skip
    return caption(*parts)
