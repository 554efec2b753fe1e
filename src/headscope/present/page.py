"""The page of an analysis, made from its facts and its template: sections, figures, terms, and lines for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from headscope.counted import count
from headscope.present.blocks import Block, ChartBlock, FactBlock, HeadingBlock, NoteBlock, PageBlocks, TableBlock
from headscope.present.charts import CHARTS
from headscope.present.facts import Fact
from headscope.present.table import page_table, terminal_table
from headscope.present.template import Template
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.links import file_link, linked
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Drawing, Figure, Parts, Section, section
from headscope.report_kit.tables.terminal import Grid
from headscope.report_kit.words import capital
from headscope.study.once_a_study import once_a_study
from headscope.study.study import Study
from headscope.views.markup import Html, el


@dataclass(frozen=True)
class Page:
    """The page of an analysis.

    Attributes:
        module: name of the module of its facts, next to which lies `page.j2`.
        facts: yields the claims that a run supports; empty for a run without the analysis's tables.
    """

    module: str
    facts: Callable[[Context], Iterable[Fact]]
    _filled: Callable[[Study], PageBlocks] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def fill(run: Study) -> PageBlocks:
            about = Context.of(run)
            return self.template.fill(about, list(self.facts(about)))

        object.__setattr__(self, "_filled", once_a_study(fill))

    @cached_property
    def template(self) -> Template:
        """The template, read and checked when it is first used."""
        return Template(sys.modules[self.module])

    def parts(self, **more: Any) -> Parts:
        """Return the analysis's parts of the report.

        Args:
            more: further fields of `Parts`.
        """
        ranked = [fact for fact in self.template.facts.values() if fact.rank]
        return Parts(
            findings=self.findings,
            sections=self.sections,
            figures=tuple(self._figures.values()),
            terms=self.terms,
            headline={fact.topic: fact.rank for fact in ranked},
            decoder_headline={fact.topic: fact.decoder_rank for fact in ranked if fact.decoder_rank},
            **more,
        )

    def filled(self, run: Study) -> PageBlocks:
        """Return the blocks of a run, which are made once."""
        return self._filled(run)

    def findings(self, about: Context) -> list[Sentence]:
        """Return the sentences, those of a model's first kind of attention first."""
        every = [each for block in self.filled(about.run).each(FactBlock) for each in block.sentences]
        order = ["", *(kind.name for kind in about.kinds)]
        return sorted(every, key=lambda each: order.index(each.kind))

    def terms(self, about: Context) -> Sequence[tuple[str, str]]:
        """Return the definitions of its terms."""
        return self.filled(about.run).terms

    def sections(self, about: Context) -> list[Section]:
        """Return the sections; a section without a sentence, chart or table is left out."""
        return [
            made
            for each in self.filled(about.run).sections
            for made in section(each.name, each.title, each.why, _html(each.blocks, about, self._figures))
        ]

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        return {
            name: Figure(name=name, tables=(), draw=partial(self._drawings, name)) for name in self.template.chart_names
        }

    def _drawings(self, name: str, about: Context) -> Iterator[tuple[str, Drawing]]:
        for block in self.filled(about.run).each(ChartBlock):
            if block.name == name and block.rows():
                yield block.kind.ending, partial(block.draw, CHARTS[block.form], about.roles)

    def terminal(self, run: Study) -> Iterator[Grid | str]:
        """Yield the sentences, the first rows of each table, and the definitions, as lines and tables of text."""
        about = Context.of(run)
        filled = self.filled(run)
        for each in self.findings(about):
            yield f"  {each.text}" if each.goes_on else f"- {each.text}"
        for block in filled.each(TableBlock):
            if (shown := terminal_table(block)) is not None:
                grid, rows = shown
                yield ""
                more = f", {len(grid.rows)} of {count(rows, 'row')}" if rows > len(grid.rows) else ""
                yield f"{block.summary}{f', {block.first}' if block.first else ''}{more}:"
                yield grid
        yield ""
        yield from (f"{name}: {meaning}" for name, meaning in filled.terms)


def _html(blocks: Sequence[Block], about: Context, figures: Mapping[str, Figure]) -> list[Html]:
    """Return the blocks as HTML; sentences that the page has shown above are left out."""
    out: list[Html] = []
    headings: list[Html] = []
    for block in blocks:
        made: list[Html | None] = []
        match block:
            case HeadingBlock():
                headings.append(el(block.tag, capital(block.text)))
            case FactBlock():
                made = [*linked([each for each in block.sentences if each in about.findings])]
            case NoteBlock():
                made = [el("p", block.text, class_="why")]
            case ChartBlock():
                made = [_chart(block, about, figures[block.name])]
            case TableBlock():
                table = page_table(block)
                made = [None if table is None else table.html()]
        if shown := [each for each in made if each is not None]:
            out += [*headings, *shown]  # a heading without anything below it is left out
            headings = []
    return out


def _chart(block: ChartBlock, about: Context, figure: Figure) -> Html | None:
    pictures = placed(about, figure, block.alt, ending=block.kind.ending)
    if not pictures:
        return None
    file = file_link(about, block.file, "This figure")
    return captioned(el("div", pictures, class_="panels"), caption(block.caption), file)
