"""A text argument of the command line: the words themselves, or the name of a file that contains them."""

from itertools import accumulate, islice
from pathlib import Path
from typing import overload

from headscope.app.cli.printing import say
from headscope.corpora.document import Document
from headscope.corpora.files import SUFFIXES
from headscope.corpora.opening import missing
from headscope.corpora.reading import read_corpus
from headscope.errors import OptionError

_LONGEST_NAME = 4096
_MOST_CHARACTERS = 1_000_000
_MOST_WORDS = 100
"""Maximum number of words of whole lines that are taken from a file, as a view shows them at once."""


@overload
def text_or_file(option: str, typed: str) -> str: ...
@overload
def text_or_file(option: str, typed: None) -> None: ...
def text_or_file(option: str, typed: str | None) -> str | None:
    """Return a text as it was typed, or the first lines of a file that was named (`-`: standard input).

    These are whole lines of its first document, with up to 100 words in total, or one longer line.

    Raises:
        InputError: the name has the ending of a text file and no such file exists, or the file cannot be read.
        OptionError: a folder was named, or a document longer than any view shows.
    """
    if typed is None or not _is_name(option, typed):
        return typed
    first, *others = islice(read_corpus(typed), 2)
    text, lines = _text_of(first)
    if len(text) > _MOST_CHARACTERS:
        part = "line" if lines else "document"
        raise OptionError(
            f"{option} {typed}: its first {part} has {len(text):,} characters; expected at most "
            f"{_MOST_CHARACTERS:,}, a sentence or some: put each on a line of its own, or type the words"
        )
    if lines < len(first.lines):
        say(f"note: the first lines of {typed} are drawn, {lines} of {len(first.lines):,} of its first document")
    elif others:
        say(f"note: {typed} has several documents, parted by blank lines; this is the first")
    return text


def _is_name(option: str, typed: str) -> bool:
    if typed == "-":
        return True
    if not typed or len(typed) > _LONGEST_NAME or "\n" in typed:
        return False
    path = Path(typed)
    try:
        if path.is_dir():
            # A word may be a folder's name by chance; a path is always meant as one.
            if path.name == typed:
                return False
            raise OptionError(f"{option} {typed} is a folder; expected the words themselves, or one file")
        if path.exists():
            return True
    except (OSError, ValueError):  # too long for a name
        return False
    if len(typed.split()) == 1 and typed.lower().removesuffix(".gz").endswith(SUFFIXES):
        raise missing(typed, "give a file that is there, or the words themselves in quotes")
    return False


def _text_of(document: Document) -> tuple[str, int]:
    """Return the text to draw from a document, and its number of lines."""
    if not document.lines:
        return " ".join(document.words or document.tokens or ()), 0
    words = accumulate(len(line.split()) for line in document.lines)
    number = max(1, sum(total <= _MOST_WORDS for total in words))
    return " ".join(document.lines[:number]), number
