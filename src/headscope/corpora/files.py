"""Opening a corpus: its files, their text as a stream of pieces or lines, and advice on files that are not text."""

import codecs
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from headscope.corpora.formats import TEXT
from headscope.corpora.opening import (
    GIVE,
    GZIP_MAGIC,
    file_chunks,
    gunzip,
    is_pipe,
    missing,
    other_than_file,
    source_name,
    unreadable,
)
from headscope.errors import InputError

_BEGINNING = 16  # first bytes of a file that identify its kind
_IMAGE = "headscope reads text; give the words that it shows as a text file"
_SAVE = "save it as plain text (.txt) or as a table (.csv)"
KINDS = {
    b"%PDF-": ("a PDF", "save its text first, for example with pdftotext FILE.pdf FILE.txt"),
    b"\x89PNG": ("an image (PNG)", _IMAGE),
    b"\xff\xd8\xff": ("an image (JPEG)", _IMAGE),
    b"GIF8": ("an image (GIF)", _IMAGE),
    b"II*\0": ("an image (TIFF)", _IMAGE),
    b"MM\0*": ("an image (TIFF)", _IMAGE),
    b"PAR1\x15": (
        "a Parquet table",
        "name it FILE.parquet, give it as text, and say with --column which column holds the text",
    ),
    b"PK\x03\x04": ("a zip archive, or a document of an office program (.docx, .xlsx, .odt)", f"unpack it, or {_SAVE}"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("a document of an office program (.doc, .xls)", _SAVE),
}
"""The kinds of files that no reader of text accepts: their first bytes, their name, and what to do."""
Paths = str | Path | Sequence[str | Path]
"""One or several files and directories; `-` is standard input."""
InputFile = Path | Literal["-"]
MAX_LINE = 16 << 20  # bytes; without a limit, a file without line ends would be read into memory whole
MAX_BLANK = 4 << 20  # consecutive blank characters; a few bytes of gzip can unpack to endless blank lines
SUFFIXES = (*TEXT, ".gz")
EXPECTED_TEXT = "text, one sentence or one paragraph a line, with a blank line between documents"


def expand(
    paths: Paths, *, suffixes: tuple[str, ...] = SUFFIXES, what: str = "text file", give: str = GIVE
) -> Iterator[InputFile]:
    """Yield the files of `paths`, in order.

    A directory is replaced by its files whose names end in one of `suffixes`, with or without a further `.gz`,
    including sub-directories, sorted by name; hidden ones (a leading dot) are skipped. `-` is standard input; a pipe is
    accepted if it is given by name. A single path is accepted, too. Every path is checked before the first is yielded,
    so that a mistake in the last one is not found hours later.

    Args:
        paths: files, directories, or `-`.
        suffixes: lower-case endings of the files to take from a directory; case does not matter.
        what: name of such a file in errors.
        give: advice in errors on what to give.

    Raises:
        InputError: a path does not exist or may not be read, is a socket or a device, a directory has no such file or
            contains a pipe, or `-` is given twice.
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    expanded: list[InputFile] = []
    for path in paths:
        if str(path) == "-":
            if "-" in expanded:
                raise InputError("- is given twice, but standard input can be read only once; give it once")
            expanded.append("-")
        elif path == "":  # Path("") would be the current directory
            raise missing("''", give)
        elif _is_directory(Path(path), give):
            expanded.extend(_files_under(Path(path), suffixes, what, give))
        else:
            expanded.append(Path(path))
    yield from expanded


def _is_directory(path: Path, give: str) -> bool:
    try:
        if kind := other_than_file(path):
            raise InputError(f"{source_name(path)} is {kind}, not a file; {give}")
        return stat.S_ISDIR(path.stat().st_mode)
    except ValueError:  # a NUL in the name
        raise missing(source_name(path), give) from None
    except OSError as error:
        raise unreadable(source_name(path), error, give) from None


def _files_under(directory: Path, suffixes: tuple[str, ...], what: str, give: str) -> list[Path]:
    def refuse(error: OSError) -> None:  # os.walk would silently skip folders that it cannot list
        raise unreadable(source_name(error.filename or directory), error, give) from None

    endings = (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))
    files = []
    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        wanted = [name for name in names if name.lower().endswith(endings) and not name.startswith(".")]
        expanded = [path for name in wanted if not _is_directory(path := Path(folder, name), give)]
        if pipe := next(filter(is_pipe, expanded), None):
            raise InputError(
                f"{source_name(pipe)} is a pipe: a folder's files are read, and a pipe only where it is given by name; "
                "take it out of the folder"
            )
        files += expanded
    if not files:
        *most, last = (f"*{suffix}" for suffix in suffixes)
        raise InputError(
            f"no {what} in {source_name(directory)}: expected {', '.join(most)}{' or ' if most else ''}{last}, "
            "found none; put them there or give the files by name"
        )
    return sorted(files)


def open_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file (`-`: standard input) without their line ends.

    Raises:
        InputError: as in `open_text` and `split_lines`.
    """
    return split_lines(open_text(path), name=source_name(path))


def text_lines(text: str) -> list[str]:
    """Return the lines of a text in memory, split at the same places as those of a file (`open_text`)."""
    return re.split("\r\n?|\n", text.removeprefix("\ufeff"))


def split_lines(pieces: Iterable[str], *, name: str) -> Iterator[str]:
    """Yield the lines of a text that arrives in pieces; `name` is the name of the text in errors.

    Raises:
        InputError: a line is over 16 MiB, or there are 4 MiB of consecutive white space.
    """
    number, line_parts, size, blank = 1, [], 0, 0
    for piece in pieces:
        blank = blank + len(piece) if piece.isspace() else 0
        if blank > MAX_BLANK:
            raise InputError(f"{name}, line {number}: more than 4 MiB of white space begin here or before; remove it")
        first, *others = piece.split("\n")
        line_parts.append(first)
        size += len(first.encode())
        if size > MAX_LINE:
            raise InputError(f"{name}, line {number}: longer than 16 MiB; break it into shorter lines")
        if others:
            yield "".join(line_parts)
            yield from others[:-1]
            number, line_parts, size = number + len(others), [others[-1]], len(others[-1].encode())
    if last := "".join(line_parts):
        yield last


def open_text(
    path: str | Path, *, expected: str = EXPECTED_TEXT, on_bytes: Callable[[bytes], object] | None = None
) -> Iterator[str]:
    r"""Yield the text of a file (`-`: standard input) in pieces of about 64 KiB, none empty.

    Gzip is unpacked, whatever the file's name; a byte order mark is dropped; `\r\n` and `\r` become `\n`. `expected`
    describes the content that an empty file lacks; `on_bytes` receives the file's bytes as stored.

    Raises:
        InputError: a file cannot be read, is empty, binary or not UTF-8, is a broken gzip file, a socket or a device,
            or a pipe to which nothing is written.
    """
    name, offset, begun = source_name(path), 0, False
    decoder = codecs.getincrementaldecoder("utf-8")()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    for data in chain(_open_bytes(path, name, on_bytes), [b""]):
        if (at := data.find(0)) >= 0:
            raise InputError(
                f"{name} is not text: NUL byte at offset {offset + at}; give UTF-8 text "
                "(iconv -f UTF-16 -t UTF-8 converts UTF-16)"
            )
        pending = len(decoder.getstate()[0])  # the bytes of a character that the last chunk split
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name} is not UTF-8: byte 0x{error.object[error.start]:02x} at offset "
                f"{offset - pending + error.start}; convert it, for example with iconv -f LATIN1 -t UTF-8"
            ) from None
        offset += len(data)
        if text and offset - len(data) - pending == 0:
            text = text.removeprefix("\ufeff")
        if text := newlines.decode(text, final=not data):
            begun = True
            yield text
    if not begun:
        raise InputError(f"{name} is empty: expected {expected}")


def _open_bytes(path: str | Path, name: str, on_bytes: Callable[[bytes], object] | None) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked and never empty, because `open_text` takes empty bytes for the end."""
    chunks = file_chunks(path, name)
    if on_bytes is not None:
        chunks = _watched(chunks, on_bytes)
    head, chunks = _headed(chunks)
    if not head:
        return
    if head.startswith(GZIP_MAGIC):
        head, chunks = _headed(gunzip(chunks, name=name))
    elif name.lower().endswith(".gz"):
        raise InputError(f"{name} ends in .gz but is not gzip; rename it, or make or fetch it again")
    for begin, (kind, remedy) in KINDS.items():
        if head.startswith(begin):
            raise InputError(f"{name} is {kind}, not text; {remedy}")
    yield from chunks


def _headed(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a file, and an iterator over all of them."""
    head = b""
    # A pipe delivers what it has: only the bytes that identify gzip are waited for.
    while len(head) < len(GZIP_MAGIC) and (more := next(chunks, b"")):
        head += more
    return head[:_BEGINNING], chain([head] if head else [], chunks)


def _watched(chunks: Iterable[bytes], on_bytes: Callable[[bytes], object]) -> Iterator[bytes]:
    for chunk in chunks:
        on_bytes(chunk)
        yield chunk
