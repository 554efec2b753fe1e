"""FASTA, the format of proteins and nucleic acids: a header line with `>`, then the sequence on any number of lines."""

from collections.abc import Iterable, Iterator
from typing import Any

from headscope.corpora.document import Document
from headscope.corpora.files import split_lines
from headscope.corpora.formats import TextFormat
from headscope.corpora.text.plain import MAX_DOCUMENT, whole_documents
from headscope.errors import InputError
from headscope.visible import printable, shorten

EXPECTED_FASTA = "FASTA: a header line that begins with >, then the sequence on one line or several"


def fasta_documents(pieces: Iterable[str], /, *, name: str) -> Iterator[Document]:
    """Yield each record as a document of one line, a whole input; its header is the field `header`.

    The lines of a sequence are joined without spaces. Records without a sequence are left out, and so are lines that
    begin with `;`.

    Raises:
        InputError: a sequence has no header, a record has more than 64 million characters, or there is no sequence.
    """
    nothing = f"{name} has no sequence: expected {EXPECTED_FASTA}"
    yield from whole_documents(_records(pieces, name), origin=f"{name}, line", nothing=nothing)


def _records(pieces: Iterable[str], name: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the number of each header line, the sequence after it, and the header."""
    header, first, size = "", 0, 0
    lines: list[str] = []
    for number, line in enumerate(split_lines(pieces, name=name), 1):
        text = line.strip()
        if text.startswith(">"):
            if first:
                yield first, "".join(lines), {"header": header}
            header, first, size, lines = text[1:].strip(), number, 0, []
        elif text and not text.startswith(";"):
            if not first:
                raise InputError(
                    f"{name}, line {number}: expected a header line, which begins with >, found "
                    f"{shorten(printable(text), 40)!r}; put one before each sequence, or name a file of text FILE.txt"
                )
            lines.append(text)
            size += len(text)
            if size > MAX_DOCUMENT:
                raise InputError(
                    f"{name}, line {first}: a record of more than 64 million characters begins here; cut it in parts"
                )
    if first:
        yield first, "".join(lines), {"header": header}


FORMAT = TextFormat(
    expected=EXPECTED_FASTA, documents=fasta_documents, example=">first\nThe cat s\nat.\n>second\nIt slept.\n"
)
