"""Plain text: one sentence or one paragraph per line, a blank line between documents. FASTA: sequences of proteins."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headscope.corpora.document import Document
from headscope.corpora.files import EXPECTED_TEXT, split_lines
from headscope.corpora.formats import Format
from headscope.errors import InputError
from headscope.visible import printable, shorten

NumberedTexts = Iterable[tuple[int, str, Mapping[str, Any]]]
"""The number of each line or row, its text, and the fields of its document."""
MAX_DOCUMENT = 64_000_000  # characters: a document is held in memory whole, and is the unit of every interval


def text_documents(lines: Iterable[str], *, name: str) -> Iterator[Document]:
    """Yield the documents of one file's lines; `name` is the name of the file in errors and `Document.origin`.

    A document is a run of lines that are not blank; each is stripped, and white space inside it becomes one space. A
    line of white space is blank. The last document counts with or without a blank line after it. A file without blank
    lines is one document, however many lines it has: its intervals are then null, because they need documents to
    resample.

    Raises:
        InputError: there are only blank lines, or a document has more than 64 million characters.
    """
    nothing = True
    for number, block in _blocks(lines, name):
        yield Document(lines=block, origin=f"{name}, line {number}")
        nothing = False
    if nothing:
        raise InputError(f"{name} has only blank lines: expected {EXPECTED_TEXT}")


def line_documents(lines: Iterable[str], *, name: str) -> Iterator[Document]:
    """Yield each line of one file that is not blank as a separate document, a whole input.

    Raises:
        InputError: there are only blank lines.
    """
    nothing = f"{name} has only blank lines: expected {EXPECTED_TEXT}"
    texts: NumberedTexts = ((number, line, {}) for number, line in enumerate(lines, 1))
    yield from whole_documents(texts, origin=f"{name}, line", nothing=nothing)


def whole_documents(texts: NumberedTexts, *, origin: str, nothing: str) -> Iterator[Document]:
    """Yield each text with more than white space as a document of one line, a whole input.

    Args:
        texts: number of the line or row, its text, and the fields of its document.
        origin: text of `Document.origin` before the number.
        nothing: error message for the case that every text is empty.

    Raises:
        InputError: every text is empty.
    """
    empty = True
    for number, content, fields in texts:
        if text := " ".join(content.split()):
            yield Document(lines=(text,), whole=True, fields=fields, origin=f"{origin} {number}")
            empty = False
    if empty:
        raise InputError(nothing)


def _blocks(lines: Iterable[str], name: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (number of the first line, lines) of every run of lines that are not blank."""
    block: list[str] = []
    first = size = 0
    for number, line in enumerate(lines, 1):
        if text := " ".join(line.split()):
            if not block:
                first, size = number, 0
            block.append(text)
            size += len(text)
            if size > MAX_DOCUMENT:
                raise InputError(
                    f"{name}, line {first}: a document of more than 64 million characters begins here; "
                    "put a blank line between documents"
                )
        elif block:
            yield first, tuple(block)
            block = []
    if block:
        yield first, tuple(block)


def _documents(pieces: Iterable[str], /, *, name: str) -> Iterator[Document]:
    return text_documents(split_lines(pieces, name=name), name=name)


def _by_line(pieces: Iterable[str], /, *, name: str) -> Iterator[Document]:
    return line_documents(split_lines(pieces, name=name), name=name)


FORMAT = Format(expected=EXPECTED_TEXT, documents=_documents, example="The cat sat.\n\nIt slept.\n", by_line=_by_line)


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


FASTA = Format(
    expected=EXPECTED_FASTA, documents=fasta_documents, example=">first\nThe cat s\nat.\n>second\nIt slept.\n"
)
