"""The formats of text, of tables with a column of text, and of treebanks: a row for each.

A row is `ending of the name -> module:FORMAT` of this folder.

The ending stands before `.gz` where that follows. A format is loaded when a file of it is read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from headscope.corpora.annotation import AnnotatedDocument
from headscope.corpora.document import Document
from headscope.entry_points import load

_PACKAGE = "headscope.corpora"
# What has another ending is plain text.
TEXT: Mapping[str, str] = {
    ".txt": "text.plain:FORMAT",
    ".json": "text.features:LIST",
    ".jsonl": "text.features:LINES",
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna"), "text.fasta:FORMAT"),
}
# One column of which holds the text.
TABLES: Mapping[str, str] = {
    ".csv": "text.delimited:CSV",
    ".tsv": "text.delimited:TSV",
    ".parquet": "text.parquet_column:FORMAT",
}
# What has another ending has lines of a word and its head; a pipe without one is CoNLL-U.
TREES: Mapping[str, str] = {
    ".conllu": "trees.conllu:FORMAT",
    ".json": "trees.entries:LIST",
    ".jsonl": "trees.entries:LINES",
    ".txt": "trees.relation_lines:FORMAT",
}


@runtime_checkable
class TextReader(Protocol):
    """From one file's text to its documents, as they are drawn."""

    def __call__(self, pieces: Iterable[str], /, *, name: str) -> Iterator[Document]:
        """Yield the documents.

        Args:
            pieces: the text, in pieces that may end anywhere; lines end in a line feed (`files.split_lines`).
            name: what errors and `Document.origin` call the file.
        """


@runtime_checkable
class TableReader(Protocol):
    """From one file to the documents in one of its columns, as they are drawn."""

    def __call__(self, path: str | Path, /, *, column: str | None, labels: str | None = None) -> Iterator[Document]:
        """Yield the documents.

        Args:
            path: of the file.
            column: name of the column of text; None where none was said, which is refused with the names.
            labels: name of the column of labels, which documents keep among their fields; None for none.
        """


@runtime_checkable
class TreeReader(Protocol):
    """From one file's text to its documents with trees, as they are drawn."""

    def __call__(self, pieces: Iterable[str], /, *, name: str, left_out: Counter[str]) -> Iterator[AnnotatedDocument]:
        """Yield the documents; as `TextReader`, and `left_out` counts what a document does not hold, by name."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A format of text.

    Attributes:
        expected: what an empty file should have held.
        documents: reads a file.
        example: a file of two sentences, `The cat sat.` and `It slept.`
        begins: with which character a text begins that is taken to be in this format, where no ending says so, as
            on standard input; empty where none does.
        by_line: reads a file in which each line is a document of its own, where lines part no more than that.
    """

    expected: str
    documents: TextReader
    example: str
    begins: str = ""
    by_line: TextReader | None = None


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """A format of tables.

    Attributes:
        expected: what an empty file should have held.
        documents: reads a file.
        example: the bytes of a file with `The cat sat.` and `It slept.` in its column `text`, or what makes them.
    """

    expected: str
    documents: TableReader
    example: bytes | Callable[[], bytes]


@dataclass(frozen=True, kw_only=True)
class TreeFormat:
    """A format of treebanks.

    Attributes:
        expected: what an empty file should have held.
        documents: reads a file.
        example: a file of one sentence, `it slept`, in which `it` is the `nsubj` of `slept`.
    """

    expected: str
    documents: TreeReader
    example: str


def text_format(ending: str) -> TextFormat:
    """Load the format of text files whose names end so; plain text for an ending that is not listed."""
    format_: TextFormat = load(TEXT.get(ending, TEXT[".txt"]), package=_PACKAGE)
    return format_


def table_format(ending: str) -> TableFormat | None:
    """Load the format of tables whose names end so; None for what is no table."""
    return load(TABLES[ending], package=_PACKAGE) if ending in TABLES else None


def tree_format(ending: str) -> TreeFormat:
    """Load the format of treebanks whose names end so; lines of a word and its head for one that is not listed."""
    format_: TreeFormat = load(TREES.get(ending, TREES[".txt"]), package=_PACKAGE)
    return format_
