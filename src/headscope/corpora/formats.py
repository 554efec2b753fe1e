"""The formats of text, of tables with a column of text, and of treebanks: one row per format.

A row is `ending of the name -> module:FORMAT` of this folder.

The ending is looked up without a final `.gz`. A format is loaded when a file of it is read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of text, of tables or of treebanks.

    Attributes:
        expected: description of the content that an empty file lacks.
        documents: function that reads a file, and yields documents as they are drawn. For text it is called with the
            text, in pieces that may end anywhere, whose lines end in a line feed (`files.split_lines`), and with the
            file's `name`, for errors and `Document.origin`; for trees also with `left_out`, which counts the parts that
            a document cannot hold, by name. For a table it is called with its path, the `column` of text (None is an
            error, whose message lists the columns), and the column of `labels`, which documents keep among their
            fields (None for no labels).
        example: file of two sentences, `The cat sat.` and `It slept.`, in a table in its column `text`, or a function
            that makes it; of a treebank a file of one sentence, `it slept`, in which `it` is the `nsubj` of `slept`.
        begins: first character by which a text without an ending, such as standard input, is recognized as this format;
            empty if there is none.
        by_line: function that reads a text in which each line is a document, for formats in which lines have no other
            role.
    """

    expected: str
    documents: Callable[..., Iterator[Any]]
    example: str | bytes | Callable[[], bytes]
    begins: str = ""
    by_line: Callable[..., Iterator[Document]] | None = None


def load_format(formats: Mapping[str, str], ending: str) -> Format:
    """Load the format of files with an ending; that of `.txt` for an ending that is not listed."""
    format_: Format = load(formats.get(ending) or formats[".txt"], package=_PACKAGE)
    return format_
