"""Blocks of a section in page order: sentences of facts, charts, tables, headings and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib.figure

from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.tables.cells import Cell

Row = Mapping[str, Any]
"""A row of a table or a point of a chart: a `Cell`, text, a number or a head (`HeadRef`) by the name of its field."""
ReadRows = Callable[[], Sequence[Row]]
"""Reads the rows of a chart or table when it is shown."""


@dataclass(frozen=True, kw_only=True)
class FactBlock:
    """The sentences of one fact, or of several of the same name."""

    sentences: tuple[Sentence, ...]


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
    def file(self) -> str:
        """Name of its file, without an ending."""
        return self.name + self.kind.ending

    def draw(self, form: Callable[..., matplotlib.figure.Figure], roles: Any) -> matplotlib.figure.Figure:
        """Draw the chart by its form."""
        return form(self.rows(), kind=self.kind.name, name=self.name, roles=roles, **self.options)


@dataclass(frozen=True, kw_only=True)
class TableBlock:
    """A table, folded on the page and shortened in a terminal.

    Attributes:
        name: its id in the page.
        rows: reads its rows.
        summary: description of the table, on its fold.
        columns: title of a group of columns -> title of a column -> (field, form), a form being a name of
            `table.FORMS`; the empty title is no group. A column without any value is left out.
        order: field whose largest values come first; empty for the order of the rows.
        first: that order in words.
    """

    name: str
    rows: ReadRows
    summary: str
    columns: Mapping[str, Mapping[str, tuple[str, str]]]
    order: str = ""
    first: str = ""


Block = FactBlock | HeadingBlock | NoteBlock | ChartBlock | TableBlock


def has_value(value: Any) -> bool:
    """Return True if a field of a row has something to show."""
    return value is not None and value == value and not (isinstance(value, Cell) and not value.exists)


@dataclass(frozen=True, kw_only=True)
class SectionBlocks:
    """A section: its title, the question that it answers, its blocks."""

    name: str
    title: str
    why: str
    blocks: list[Block]


@dataclass(frozen=True, kw_only=True)
class PageBlocks:
    """What an analysis shows of a run: its sections and the definitions of its terms."""

    sections: tuple[SectionBlocks, ...]
    terms: tuple[tuple[str, str], ...]

    def each(self, kind_of_block: type[Block]) -> list[Any]:
        """Return the blocks of one kind, in the order of the page."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, kind_of_block)]
