"""Opening a corpus: which files are meant, and their text as a stream of pieces or lines."""

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
from headscope.corpora.refused import LONGEST, what_it_is
from headscope.errors import InputError

Paths = str | Path | Sequence[str | Path]
"""Files and directories, one or several; `-` is standard input."""
InputFile = Path | Literal["-"]
MAX_LINE = 16 << 20  # bytes; without a limit, a file without line ends would be held whole
MAX_BLANK = 4 << 20  # characters together; a few bytes of gzip can unpack to lines without end
SUFFIXES = (*TEXT, ".gz")
EXPECTED_TEXT = "text, one sentence or one paragraph a line, with a blank line between documents"


def expand(
    paths: Paths, *, suffixes: tuple[str, ...] = SUFFIXES, what: str = "text file", give: str = GIVE
) -> Iterator[InputFile]:
    """Yield the files that `paths` mean, in order.

    A directory means its files whose names end in one of `suffixes`, with or without `.gz` after it,
    sub-directories included, sorted by name; what is hidden (a leading dot) is skipped. `-` means standard
    input; a pipe is taken where it is given by name. A single path will do. Every path is looked up before the
    first is yielded, so that a slip in the last does not come out hours later.

    Args:
        paths: files, directories, or `-`.
        suffixes: endings, in lower case, of the files that a directory means; letter case does not count.
        what: what errors call such a file.
        give: what errors tell the user to give.

    Raises:
        InputError: a path that does not exist or may not be read, a socket or a device, a directory without such
            a file or with a pipe among them, or `-` given twice.
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
    def refuse(error: OSError) -> None:  # os.walk would leave out what it cannot list without a word
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
        InputError: as `open_text`; as `split_lines`.
    """
    return split_lines(open_text(path), name=source_name(path))


def text_lines(text: str) -> list[str]:
    """Return the lines of a text in memory, which end where those of a file with this text end (`open_text`)."""
    return re.split("\r\n?|\n", text.removeprefix("\ufeff"))


def split_lines(pieces: Iterable[str], *, name: str) -> Iterator[str]:
    """Yield the lines of a text that comes in pieces; `name` is what an error calls the text.

    Raises:
        InputError: a line over 16 MiB; 4 MiB of white space together.
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

    Gzip is unpacked, whatever the file is called; a byte order mark is dropped; `\r\n` and `\r` become `\n`.
    `expected` says what an empty file should have held; `on_bytes` is given the file's bytes as they lie there.

    Raises:
        InputError: a file that cannot be read, is empty, binary or not UTF-8, or is a broken gzip file; a socket, a
            device, or a pipe that nothing is written to.
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
        pending = len(decoder.getstate()[0])  # the bytes of a character that the last chunk cut
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
    """Yield the bytes of a file, unpacked and never empty: `open_text` takes empty bytes for the end."""
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
    if (kind := what_it_is(head)) is not None:
        raise InputError(f"{name} is {kind.name}, not text; {kind.instead}")
    yield from chunks


def _headed(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a file, and all of them."""
    head = b""
    # A pipe hands over what it has: more than tells gzip is not waited for.
    while len(head) < len(GZIP_MAGIC) and (more := next(chunks, b"")):
        head += more
    return head[:LONGEST], chain([head] if head else [], chunks)


def _watched(chunks: Iterable[bytes], on_bytes: Callable[[bytes], object]) -> Iterator[bytes]:
    for chunk in chunks:
        on_bytes(chunk)
        yield chunk
