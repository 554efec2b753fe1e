"""The formats of text, of tables with a column of text, and of treebanks: one row per format.

A row is `ending of the name -> module:FORMAT` of this folder.

The ending is looked up without a final `.gz`. A format is loaded when a file of it is read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from headscope.corpora.annotation import AnnotatedDocument
from headscope.corpora.document import Document
from headscope.installing import load

_PACKAGE = "headscope.corpora"
# Files with another ending are plain text.
TEXT: Mapping[str, str] = {
    ".txt": "plain:FORMAT",
    ".json": "features:LIST",
    ".jsonl": "features:LINES",
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna"), "plain:FASTA"),
}
# One of their columns holds the text.
TABLES: Mapping[str, str] = {".csv": "table:CSV", ".tsv": "table:TSV", ".parquet": "table:PARQUET"}
# Files with another ending have lines of a word and its head; a pipe without an ending is CoNLL-U.
TREES: Mapping[str, str] = {
    ".conllu": "trees.conllu:FORMAT",
    ".json": "trees.clark2019:LIST",
    ".jsonl": "trees.clark2019:LINES",
    ".txt": "trees.clark2019:FORMAT",
}


@runtime_checkable
class TextReader(Protocol):
    """Reader of one file's text, which yields documents as they are drawn."""

    def __call__(self, pieces: Iterable[str], /, *, name: str) -> Iterator[Document]:
        """Yield the documents.

        Args:
            pieces: text, in pieces that may end anywhere; lines end in a line feed (`files.split_lines`).
            name: name of the file in errors and in `Document.origin`.
        """


@runtime_checkable
class TableReader(Protocol):
    """Reader of one column of a table, which yields documents as they are drawn."""

    def __call__(self, path: str | Path, /, *, column: str | None, labels: str | None = None) -> Iterator[Document]:
        """Yield the documents.

        Args:
            path: path of the file.
            column: name of the column of text; None is an error, whose message lists the columns.
            labels: name of the column of labels, which documents keep among their fields; None for no labels.
        """


@runtime_checkable
class TreeReader(Protocol):
    """Reader of one file's text, which yields documents with trees as they are drawn."""

    def __call__(self, pieces: Iterable[str], /, *, name: str, left_out: Counter[str]) -> Iterator[AnnotatedDocument]:
        """Yield the documents as in `TextReader`; `left_out` counts parts that a document cannot hold, by name."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A format of text.

    Attributes:
        expected: description of the content that an empty file lacks.
        documents: function that reads a file.
        example: file of two sentences, `The cat sat.` and `It slept.`
        begins: first character by which a text without an ending, such as standard input, is recognized as this format;
            empty if there is none.
        by_line: function that reads a file in which each line is a document, for formats in which lines have no other
            role.
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
        expected: description of the content that an empty file lacks.
        documents: function that reads a file.
        example: bytes of a file with `The cat sat.` and `It slept.` in its column `text`, or a function that makes
            them.
    """

    expected: str
    documents: TableReader
    example: bytes | Callable[[], bytes]


@dataclass(frozen=True, kw_only=True)
class TreeFormat:
    """A format of treebanks.

    Attributes:
        expected: description of the content that an empty file lacks.
        documents: function that reads a file.
        example: file of one sentence, `it slept`, in which `it` is the `nsubj` of `slept`.
    """

    expected: str
    documents: TreeReader
    example: str


def text_format(ending: str) -> TextFormat:
    """Load the format of text files with this ending; plain text for an ending that is not listed."""
    format_: TextFormat = load(TEXT.get(ending, TEXT[".txt"]), package=_PACKAGE)
    return format_


def table_format(ending: str) -> TableFormat | None:
    """Load the format of tables with this ending; None if it is not an ending of tables."""
    return load(TABLES[ending], package=_PACKAGE) if ending in TABLES else None


def tree_format(ending: str) -> TreeFormat:
    """Load the format of treebanks with this ending; lines of a word and its head for one that is not listed."""
    format_: TreeFormat = load(TREES.get(ending, TREES[".txt"]), package=_PACKAGE)
    return format_
