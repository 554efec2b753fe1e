"""CoNLL-2012 columns, as OntoNotes has them, and LitBank's tab-separated variant."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention, Unmatched
from headscope.corpora.mentions.brackets import Brackets, match_brackets, printable
from headscope.corpora.trees.constituency import syntax_heads
from headscope.errors import InputError

CONLL2012_SUFFIXES = (".conll", ".gold_conll", ".v4_gold_conll", ".auto_conll", ".v4_auto_conll")
GIVE_CONLL2012 = "give a CoNLL-2012 file (.conll, .gold_conll) or a directory of them"
COLUMNS = 12  # minimum: document, part, number, word, tag, parse, six more or many more, coreference
_BEGIN = re.compile(r"#begin document \((.+?)\)(?:; part (\S+))?\s*")
_NONE = frozenset({"", "_", "-"})  # the values of an empty column
# the Treebank's escapes for characters that its notation uses
_ESCAPED = {
    **{"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"},
    **{"/.": ".", "/?": "?", "/-": "-"},
}


def conll2012_documents(
    lines: Iterable[str], *, name: str, names: dict[str, str] | None = None
) -> Iterator[AnnotatedDocument]:
    """Yield the documents of a CoNLL-2012 file.

    A file holds parts between `#begin document (NAME); part N` and `#end document`, one word per line and a blank line
    between sentences. Columns are separated by white space, or by tabs if a line has one (then the last may be empty).
    The word (4), the part of speech (5), the parse (6) and the coreference (last) are used; `_`, `-` or nothing means
    none. Consecutive parts of one name are one document, in the order of the file; each has its own entities
    (`000/12`). Sentences with a parse get heads by `constituency.syntax_heads`, with the relation `root` or `dep`. The
    Treebank's escapes are undone (`-LRB-` is `(`, `/.` is `.`).

    Args:
        lines: lines of the file.
        name: name of the file in errors and `origin`.
        names: names of earlier documents and the places where they began; it is extended. The same document given twice
            (for example a gold and an automatic version) would count twice.

    Raises:
        InputError: a line is outside a document, a document does not end, a name comes again later, there are too few
            columns or another number than in the line before, a word number is malformed, the brackets of a parse do
            not match, or the coreference is not made of brackets. Unmatched brackets of mentions are listed in a
            document's `unmatched` instead.
    """
    names = {} if names is None else names
    parts: list[_Part] = []
    for part in _parts(lines, name):
        if parts and part.document == parts[0].document:
            if any(part.number == other.number for other in parts):
                raise InputError(
                    f"{part.origin}: part {part.number or '(none)'} of {printable(part.document)} comes twice; "
                    "number the parts of a document, or keep one"
                )
        else:
            if parts:
                yield _document(parts)
                parts = []
            if part.document in names:
                raise InputError(
                    f"{part.origin}: the document {printable(part.document)} has already begun at "
                    f"{names[part.document]}; give each document once, its parts one after another"
                )
            names[part.document] = part.origin
        parts.append(part)
    if not parts:
        raise InputError(f"{name} has no document: expected #begin document (NAME); part 000, found blank lines")
    yield _document(parts)


@dataclass
class _Part:
    """One `#begin document` ... `#end document`, as it is being read."""

    document: str
    number: str
    origin: str
    sentences: list[AnnotatedSentence] = field(default_factory=list)
    brackets: list[Brackets] = field(default_factory=list)
    words: int = 0

    def add(self, lines: Sequence[str], name: str, first: int) -> None:
        """Add the lines of a sentence, of which the first has number `first`."""
        rows = _rows(lines, name, first)
        for at, columns in enumerate(rows):
            if columns[-1] not in _NONE:
                position, origin = self.words + at, f"{name}, line {first + at}"
                self.brackets.append(Brackets(start=position, end=position + 1, value=columns[-1], origin=origin))
        self.words += len(rows)
        self.sentences.append(_sentence(rows, name, first))


def _parts(lines: Iterable[str], name: str) -> Iterator[_Part]:
    part: _Part | None = None
    sentence: list[str] = []  # the lines of a sentence
    for number, line in enumerate(lines, 1):
        if line.startswith("#begin"):
            if part is not None:
                raise _unended(part)
            part = _begin(line, f"{name}, line {number}")
        elif part is None:
            if line.strip():
                raise InputError(
                    f"{name}, line {number}: expected #begin document (NAME); part 000 before the first word, "
                    f"found {printable(line)}; {GIVE_CONLL2012}"
                )
        elif line.startswith("#end document") or not line.strip():
            if sentence:
                part.add(sentence, name, number - len(sentence))
                sentence = []
            if line.strip():
                if not part.sentences:
                    raise InputError(f"{part.origin}: the document that begins here has no words; leave it out")
                yield part
                part = None
        else:
            sentence.append(line)
    if part is not None:
        raise _unended(part)


def _begin(line: str, origin: str) -> _Part:
    begin = _BEGIN.fullmatch(line)
    if begin is None:
        raise InputError(f"{origin}: expected #begin document (NAME); part 000, found {printable(line)}; mend the line")
    return _Part(begin[1], begin[2] or "", origin)


def _rows(lines: Sequence[str], name: str, first: int) -> list[list[str]]:
    """Return the columns of a sentence's lines."""
    rows: list[list[str]] = []
    for number, line in enumerate(lines, first):
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) < COLUMNS:
            fault = f"expected {COLUMNS} columns or more, found {len(columns)}; {GIVE_CONLL2012}"
        elif rows and len(columns) != len(rows[0]):
            fault = (
                f"expected {len(rows[0])} columns, as in the sentence's first line, found {len(columns)}; "
                "give every line of a sentence the same number"
            )
        elif not columns[2].isdecimal():
            fault = f"expected the word's number in column 3, found {printable(columns[2])}; mend the columns"
        elif not columns[3].strip():
            fault = "expected a word in column 4, found nothing; fill it in"
        else:
            columns[-1] = columns[-1].strip()
            rows.append(columns)
            continue
        raise InputError(f"{name}, line {number}: {fault}")
    return rows


def _sentence(rows: Sequence[Sequence[str]], name: str, first: int) -> AnnotatedSentence:
    words = tuple(_ESCAPED.get(columns[3], columns[3]) for columns in rows)
    tags = tuple(columns[4] for columns in rows)
    bits = [columns[5] for columns in rows]
    heads: tuple[int, ...] = ()
    # OntoNotes marks unparsed sentences by NOPARSE and XX
    if not _NONE.issuperset(bits) and not any("(NOPARSE" in bit for bit in bits):
        origins = [f"{name}, line {number}" for number in range(first, first + len(rows))]
        heads = syntax_heads(bits, tags, origins=origins)
    return AnnotatedSentence(
        words=words,
        heads=heads,
        relations=tuple("dep" if head else "root" for head in heads),
        tags=() if (_NONE | {"XX"}).issuperset(tags) else tags,
        origin=f"{name}, line {first}",
    )


def _document(parts: Sequence[_Part]) -> AnnotatedDocument:
    sentences = tuple(sentence for part in parts for sentence in part.sentences)
    mentions: list[Mention] = []
    unmatched: list[Unmatched] = []
    at = 0  # position of the part's first word in the document
    for part in parts:
        prefix = f"{part.number}/" if part.number else ""
        matched = match_brackets(part.brackets, offset=at, prefix=prefix, document=part.document)
        mentions += matched.mentions
        unmatched += matched.unmatched
        at += part.words
    return AnnotatedDocument(
        sentences=sentences, mentions=tuple(mentions), unmatched=tuple(unmatched), origin=parts[0].origin
    )


def _unended(part: _Part) -> InputError:
    return InputError(f"{part.origin}: the document that begins here has no #end document; add the line")
