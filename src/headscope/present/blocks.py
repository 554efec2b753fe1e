"""Blocks of a section in page order: sentences of facts, charts, tables, headings and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib.figure

from headscope.present.cells import Cell
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, Sentence
from headscope.present.report_parts import Context
from headscope.views.markup import Html

Row = Mapping[str, Any]
"""A row of a table or a point of a chart: a `Cell`, text, a number or a head (`HeadRef`) by the name of its field."""
ReadRows = Callable[[Context], Sequence[Row]]
"""Reads the rows of a chart or table when it is shown."""


@dataclass(frozen=True, kw_only=True)
class FactBlock:
    """The sentences of one fact, or of several of the same name."""

    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class CardBlock:
    """Sentences for the cards of heads, each with its head; the page itself leaves them out."""

    sentences: tuple[tuple[HeadRef, Sentence], ...]


@dataclass(frozen=True, kw_only=True)
class HeadingBlock:
    """A heading within a section."""

    text: str
    tag: str = "h3"


@dataclass(frozen=True, kw_only=True)
class NoteBlock:
    """A paragraph that belongs to no chart and no table."""

    text: str


@dataclass(frozen=True, kw_only=True)
class CaptionBlock:
    """A caption of the sentences and tables between it and the heading, note, chart or caption before them."""

    text: str


@dataclass(frozen=True, kw_only=True)
class HtmlBlock:
    """A part of the page that Python draws, for what is neither a chart nor a table.

    Attributes:
        read: returns the part; None if there is nothing to draw.
        caption: its caption.
        key: returns a further caption, such as a scale of colors; None if there is none.
    """

    read: Callable[[Context], Html | None]
    caption: str
    key: Callable[[], Html] | None = None


@dataclass(frozen=True, kw_only=True)
class ChartBlock:
    """A chart with its caption.

    Attributes:
        form: its kind, a name of `charts.CHARTS`.
        name: name of its file, without the kind of attention.
        rows: reads its points.
        alt: description for screen readers.
        caption: meaning of its marks, axes and colors.
        kind: kind of attention of its heads.
        options: axes, rules and labels, as the form takes them.
    """

    form: str
    name: str
    rows: ReadRows
    alt: str
    caption: str
    kind: Kind
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """Ending of its file name: the kind of attention."""
        return self.kind.ending

    def draw(self, form: Callable[..., matplotlib.figure.Figure], about: Context) -> matplotlib.figure.Figure:
        """Draw the chart by its form."""
        return form(self.rows(about), kind=self.kind.name, name=self.name, roles=about.roles, **self.options)


@dataclass(frozen=True, kw_only=True)
class FigureBlock:
    """A figure that its analysis draws, with its caption.

    Attributes:
        name: name of the figure, one of `Page.figures`.
        alt: description for screen readers.
        caption: meaning of its marks, axes and colors.
        ending: ending of its file name: the kind of attention, the probe.
    """

    name: str
    alt: str
    caption: str
    ending: str = ""


@dataclass(frozen=True, kw_only=True)
class TableBlock:
    """A table; a terminal shows its first rows.

    Attributes:
        name: its id in the page.
        rows: reads its rows.
        summary: description of the table, on its fold.
        columns: title of a group of columns -> title of a column -> (field, form), a form being a name of
            `table.FORMS`; the empty title is no group. A column without any value is left out.
        order: field whose largest values come first; empty for the order of the rows.
        first: that order in words.
        opened: True if the table is unfolded when the page opens.
        unfolded: True if it has no fold.
        class_: class of the table. If it has one, or no fold, rows that have the same text in the field `group` stand
            below that text, rows whose field `weak` is true are gray, and cells have small print.
        terminal: True if a terminal shows it after the first table; if no table has it, a terminal shows all unfolded
            tables, or else the first folded one.
        complete: True if a terminal shows all of its rows; it is then a table for a terminal.
    """

    name: str
    rows: ReadRows
    summary: str
    columns: Mapping[str, Mapping[str, tuple[str, str]]]
    order: str = ""
    first: str = ""
    opened: bool = False
    unfolded: bool = False
    class_: str | None = None
    terminal: bool = False
    complete: bool = False

    def shown_columns(self, rows: Sequence[Row]) -> Mapping[str, Mapping[str, tuple[str, str]]]:
        """Return the columns, by group, in which any row has a value."""
        kept = {
            group: {title: each for title, each in columns.items() if any(has_value(row.get(each[0])) for row in rows)}
            for group, columns in self.columns.items()
        }
        return {group: columns for group, columns in kept.items() if columns}


Block = (
    FactBlock | CardBlock | HeadingBlock | NoteBlock | CaptionBlock | HtmlBlock | ChartBlock | FigureBlock | TableBlock
)


def has_value(value: Any) -> bool:
    """Return True if a field of a row has something to show."""
    return value is not None and value == value and not (isinstance(value, Cell) and not value.exists)


@dataclass(frozen=True, kw_only=True)
class SectionBlocks:
    """A section: its title, the question that it answers, its blocks; `closing` is true if all analyses come before."""

    name: str
    title: str
    why: str
    blocks: list[Block]
    closing: bool = False


@dataclass(frozen=True, kw_only=True)
class PageBlocks:
    """What an analysis shows of a run: its sections and the definitions of its terms."""

    sections: tuple[SectionBlocks, ...]
    terms: tuple[tuple[str, str], ...]

    def each(self, kind_of_block: type[Block]) -> list[Any]:
        """Return the blocks of one kind, in the order of the page."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, kind_of_block)]
