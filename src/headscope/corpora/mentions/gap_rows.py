"""GAP: Wikipedia snippets, each with a pronoun and two names that it may refer to."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Literal

from headscope.corpora.document import distinct, document_id
from headscope.corpora.files import Paths, expand, open_lines
from headscope.corpora.mentions.brackets import printable
from headscope.corpora.opening import source_name
from headscope.errors import InputError

GAP_SUFFIXES = (".tsv",)
GIVE_GAP = "give a GAP file (gap-test.tsv) or a directory of them"
HEADER = (
    *("ID", "Text", "Pronoun", "Pronoun-offset"),
    *("A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"),
)
_GENDERS: dict[str, Literal["masculine", "feminine"]] = {
    **dict.fromkeys(("he", "him", "his", "himself"), "masculine"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "feminine"),
}
# GAP writes * for letters outside ASCII (`St*fano`); an accent may be a separate character. An English clitic
# ('s) is a word, as in treebanks; any other character that is not a letter is a word alone, or with its repeats (``).
_WORD = re.compile(
    r"['’](?:s|re|ve|ll|d|m|t)\b|[\w*\u0300-\u036f]+(?:-[\w*\u0300-\u036f]+)*|([^\w\s])\1*", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class GapRow:
    """One snippet; the unit of resampling.

    Attributes:
        name: name in the file: `test-1`; not part of the row's content.
        id: hash of the row's content, without its name.
        words: words of the text.
        spaces: whether white space follows each word in the text, `[word]`.
        pronoun: position of the pronoun, from 0.
        gender: gender of the pronoun.
        a: position of the first word of the first name, and the position after its last.
        b: the same for the second name.
        truth: whether the pronoun refers to a, and whether to b; never both, in some rows neither.
        origin: place in the file, for messages: `gap-test.tsv, line 2`.
    """

    name: str
    words: tuple[str, ...]
    pronoun: int
    gender: Literal["masculine", "feminine"]
    a: tuple[int, int]
    b: tuple[int, int]
    truth: tuple[bool, bool]
    origin: str
    spaces: tuple[bool, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", document_id(self.content()))

    def content(self) -> bytes:
        """Return the bytes that identify it."""
        parts = [self.words, self.spaces, self.pronoun, self.a, self.b, self.truth, self.gender]
        return json.dumps(parts).encode()

    def text(self) -> Iterable[str]:
        """Return the text that the model reads, in pieces."""
        return self.words


def read_gap(paths: Paths) -> Iterator[GapRow]:
    """Yield the rows of GAP's files: eleven tab-separated columns under a header, without quoting.

    The text is split into words at white space and punctuation (`split_words`), and also at the beginning and end of
    the pronoun and the names, so that they are whole words.

    Args:
        paths: files or directories, as in `files.expand`.

    Raises:
        InputError: a file cannot be read (`files.open_text`), has another header or no rows; or a row does not have
            eleven columns, has an offset that is not that of the pronoun or name, a truth value other than TRUE and
            FALSE, two names that are both true, or a pronoun without gender.
    """
    files = expand(paths, suffixes=GAP_SUFFIXES, what="GAP file", give=GIVE_GAP)
    yield from distinct(row for path in files for row in gap_rows(open_lines(path), name=source_name(path)))


def gap_rows(lines: Iterable[str], *, name: str) -> Iterator[GapRow]:
    """Yield the rows of one file's lines; `name` is the name of the file in errors and `GapRow.origin`.

    Errors are those of `read_gap`.
    """
    empty, headed = True, False
    for number, line in enumerate(lines, 1):
        origin = f"{name}, line {number}"
        columns = line.split("\t")
        if not headed:
            if tuple(columns) != HEADER:
                raise InputError(
                    f"{origin}: expected the header of GAP, {' '.join(HEADER)} between tabs, "
                    f"found {printable(' '.join(columns))}; {GIVE_GAP}"
                )
            headed = True
        elif line.strip():
            if len(columns) != len(HEADER):
                raise InputError(
                    f"{origin}: expected {len(HEADER)} columns between tabs, found {len(columns)}; mend the row"
                )
            yield _row(dict(zip(HEADER, columns)), origin)
            empty = False
    if empty:
        raise InputError(f"{name} has no rows: expected some below the header; {GIVE_GAP}")


def split_words(text: str, *, cuts: Iterable[int] = ()) -> list[tuple[int, str]]:
    """Return the words of a text, each with the position of its first character.

    A word is a run of letters, digits and hyphens between them, a clitic (`'s`), or punctuation.

    Args:
        text: any text.
        cuts: character positions at which a word ends and the next begins in any case.
    """
    edges = [0, *sorted(set(cuts) - {0, len(text)}), len(text)]
    return [
        (begin + word.start(), word[0]) for begin, end in pairwise(edges) for word in _WORD.finditer(text[begin:end])
    ]


def _row(row: dict[str, str], origin: str) -> GapRow:
    text = row["Text"]
    spans = {column: _characters(row, column, origin) for column in ("Pronoun", "A", "B")}
    words = split_words(text, cuts=[cut for span in spans.values() for cut in span])
    places = {
        column: [at for at, (begin, _) in enumerate(words) if first <= begin < last]
        for column, (first, last) in spans.items()
    }
    gender = _GENDERS.get(row["Pronoun"].lower())
    if gender is None:
        raise InputError(
            f"{origin}: expected a pronoun among {', '.join(_GENDERS)}, found {printable(row['Pronoun'])}; "
            "leave the row out"
        )
    truth = (_truth(row, "A-coref", origin), _truth(row, "B-coref", origin))
    if all(truth):
        raise InputError(f"{origin}: A-coref and B-coref are both TRUE; expected one at most; mend the row")
    forms = tuple(word for _, word in words)
    return GapRow(
        name=row["ID"],
        words=forms,
        pronoun=places["Pronoun"][0],
        gender=gender,
        a=(places["A"][0], places["A"][-1] + 1),
        b=(places["B"][0], places["B"][-1] + 1),
        truth=truth,
        origin=origin,
        spaces=tuple(
            following is None or begin + len(word) < following[0]
            for (begin, word), following in zip_longest(words, words[1:])
        ),
    )


def _characters(row: dict[str, str], column: str, origin: str) -> tuple[int, int]:
    """Return the position of a name's first character and the position after its last."""
    text, name, offset = row["Text"], row[column], row[f"{column}-offset"]
    if not name.strip():
        raise InputError(f"{origin}: {column} is empty; fill it in or leave the row out")
    if not (offset.isascii() and offset.isdecimal()) or len(offset) > 9:
        raise InputError(
            f"{origin}: expected {column}-offset to be a number of characters, found {printable(offset)}; mend the row"
        )
    begin = int(offset)
    if not text.startswith(name, begin):
        came = text[begin : begin + len(name)]
        raise InputError(
            f"{origin}: expected {printable(name)} at {column}-offset {begin} of the text, "
            f"found {printable(came) or 'its end'}; count characters from 0"
        )
    return begin, begin + len(name)


def _truth(row: dict[str, str], column: str, origin: str) -> bool:
    if row[column] not in ("TRUE", "FALSE"):
        raise InputError(
            f"{origin}: expected {column} to be TRUE or FALSE, found {printable(row[column]) or 'nothing'}; "
            "mend the row"
        )
    return row[column] == "TRUE"
