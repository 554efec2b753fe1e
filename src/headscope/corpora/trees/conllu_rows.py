"""One sentence of CoNLL-U, from its lines: its words, multi-word tokens, trees, and the white space between words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headscope.corpora.annotation import AnnotatedSentence
from headscope.corpora.trees.tree import MAX_ROWS, check_relations, check_tree, read_heads, shown, too_long
from headscope.errors import InputError

_COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
_ID = re.compile(r"([0-9]{1,9})(?:([-.])([0-9]{1,9}))?")  # 5, 5-6 or 5.1


class Token(NamedTuple):
    """A unit written without a space inside: a word, or a range such as `au` for the words `à` `le`.

    Attributes:
        form: form as it is written.
        last: number of its last word, from 1.
        apart: whether white space follows it according to its row.
    """

    form: str
    last: int
    apart: bool


def closed(miscellany: str) -> bool:
    """Return True if the last column of a row marks that no space follows."""
    return "SpaceAfter=No" in miscellany and "SpaceAfter=No" in miscellany.split("|")


def as_written(tokens: Sequence[Token], words: Sequence[str], *, text: str) -> tuple[tuple[bool, ...], tuple[str, ...]]:
    """Return whether white space follows each word, and each word's written form; empty tuples if all are plain.

    A range whose words make up its form (`do` `n't`) is written word by word, without white space. In any other range
    (`au`), the first word has the form, and the others have an empty one. The row of a range defines the space after
    its last word. If no row defines any, the original text does, if it consists of these tokens.

    Args:
        tokens: tokens in order.
        words: words of the sentence.
        text: original text of the sentence; empty if it is unknown.
    """
    apart = [token.apart for token in tokens]
    if all(apart) and text:
        apart = _as_in(text, [token.form for token in tokens]) or apart
    if all(apart) and len(tokens) == len(words):
        return (), ()
    spaces: list[bool] = []
    written: list[str] = []
    for token, follows in zip(tokens, apart):
        inner = list(words[len(spaces) : token.last])
        known = token.form.strip() not in ("", "_")
        shared = known and len(inner) > 1 and "".join(inner) != token.form
        spaces += [not known] * (len(inner) - 1) + [follows]
        written += [token.form] + [""] * (len(inner) - 1) if shared else inner
    return tuple(spaces), () if written == list(words) else tuple(written)


def _as_in(text: str, forms: Sequence[str]) -> list[bool]:
    """Return whether a space follows each token in a text; an empty list if the text does not consist of the tokens."""
    spans, at = [], 0
    for form in forms:
        if not text.startswith(form, at):
            return []
        end = at + len(form)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
        # The text does not show what follows the last token; sentences are separated by a space.
        spans.append(at > end or at == len(text))
    return spans if at == len(text) else []


@dataclass
class ConlluBlock:
    """The lines of a sentence, with the content of those comments that are used."""

    begins: bool = False  # whether a document begins
    document: str = ""  # the name of the document that begins
    declared: str = ""  # fields of the brackets of mentions
    paragraph: bool = False  # whether a paragraph begins, separated from the text before it
    text: str = ""
    rows: list[tuple[int, str]] = field(default_factory=list)  # number of the line, line


@dataclass(frozen=True, kw_only=True)
class ConlluSentence:
    """A sentence with data that only its document needs.

    Attributes:
        sentence: the sentence.
        block: lines that it was read from.
        marks: `Entity=` of each word and each empty node, the number of its line, and whether it is an empty node.
    """

    sentence: AnnotatedSentence
    block: ConlluBlock
    marks: tuple[tuple[str, int, bool], ...]


def conllu_blocks(lines: Iterable[str], *, name: str) -> Iterator[ConlluBlock]:
    """Yield every run of rows, with the comments before them.

    Raises:
        InputError: a run has more than 100,000 rows.
    """
    block = ConlluBlock()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if block.rows:
                yield block
                block = ConlluBlock(declared=block.declared)
            block.text = ""  # from comments without rows after them
        elif line[0] == "#":
            key, _, value = line[1:].partition("=")
            match key.split():
                case ["text"]:
                    block.text = value.strip()
                case ["global.Entity"]:
                    block.declared = value.strip()
                case ["newpar", *_]:
                    block.paragraph = True
                case ["newdoc", *of]:
                    block.begins = True
                    block.document = value.strip() if of == ["id"] else ""
        else:
            block.rows.append((number, line))
            if len(block.rows) > MAX_ROWS:
                raise too_long(f"{name}, line {block.rows[0][0]}")
    if block.rows:
        yield block


def read_block(block: ConlluBlock, *, name: str, left_out: Counter[str]) -> ConlluSentence:
    """Return the sentence of a block; count in `left_out` the rows that are not words.

    Raises:
        InputError: a row is not one of CoNLL-U or does not continue the numbering, there is no word, or the heads are
            not a tree.
    """
    words: list[list[str]] = []  # columns of each word
    lines: list[int] = []  # line numbers of the words
    ranges: list[tuple[str, int, int]] = []  # range as written, number of the last word, number of the line
    tokens: list[Token] = []
    marks: list[tuple[str, int, bool]] = []
    for number, line in block.rows:
        columns = line.split("\t")
        match = _ID.fullmatch(columns[0])
        if len(columns) != 10 or match is None:
            raise InputError(f"{name}, line {number}: {_wrong(line, columns)}")
        first, mark, second = match.groups()
        due = len(words) + (mark != ".")
        if int(first) != due:
            raise InputError(
                f"{name}, line {number}: expected {due}{f'.{second}' if mark == '.' else ''} in the first column, "
                f"found {columns[0]}; number the words of a sentence 1, 2, 3 ... and put a blank line between "
                "sentences"
            )
        if mark == "-":
            ranges.append((columns[0], int(second), number))
            tokens.append(Token(columns[1], last=int(second), apart=not closed(columns[9])))
            continue
        if mark is None:
            if not columns[1].strip():
                raise InputError(
                    f"{name}, line {number}: word {first} is empty; expected its form in the second column"
                )
            words.append(columns)
            lines.append(number)
            if not tokens or tokens[-1].last < len(words):
                tokens.append(Token(columns[1], last=len(words), apart=not closed(columns[9])))
        marks.append((_entity(columns[9]) if "Entity=" in columns[9] else "", number, mark == "."))
    if not words:
        raise InputError(
            f"{name}, line {block.rows[0][0]}: the sentence that begins here has no word; expected a row numbered 1"
        )
    for written, last, number in ranges:
        if not int(written.partition("-")[0]) < last <= len(words):
            raise InputError(
                f"{name}, line {number}: the range {written} must end at a later word of the sentence, which has "
                f"{len(words)}"
            )
    left_out["multi-word tokens"] += len(ranges)
    left_out["empty nodes"] += len(marks) - len(words)
    spaces, forms = as_written(tokens, [columns[1] for columns in words], text=block.text)
    sentence = _sentence(words, lines, name=name, text=block.text, spaces=spaces, written=forms)
    return ConlluSentence(sentence=sentence, block=block, marks=tuple(marks))


def _sentence(
    rows: list[list[str]], lines: list[int], *, name: str, text: str, spaces: tuple[bool, ...], written: tuple[str, ...]
) -> AnnotatedSentence:
    origins = [f"{name}, line {number}" for number in lines]
    _, words, _, universal, treebank_tags, _, numbers, relations, _, _ = zip(*rows, strict=True)
    heads = read_heads(numbers, words=words, origins=origins)
    check_relations(relations, words=words, origins=origins)
    check_tree(words, heads, origins=origins)
    tags = [tag if tag not in ("", "_") else other or "_" for tag, other in zip(universal, treebank_tags, strict=True)]
    return AnnotatedSentence(
        words=words,
        heads=heads,
        relations=relations,
        tags=() if set(tags) == {"_"} else tuple(tags),
        text=text,
        spaces=spaces,
        written=written,
        origin=origins[0],
    )


def _wrong(line: str, columns: list[str]) -> str:
    if len(columns) == 10:
        return (
            "expected the number of a word (5), of a range (5-6) or of an empty node (5.1) in the first column, "
            f"found {shown(columns[0])}"
        )
    if len(columns) > 1:
        came = f"{len(columns)}; give _ for unknown values"
    else:
        came = "spaces between them; put tabs there" if len(line.split()) >= 10 else "1 and no tab"
    return f"expected 10 columns with tabs between them ({_COLUMNS}), found {came}"


def _entity(miscellany: str) -> str:
    entities = (each for each in miscellany.split("|") if each.startswith("Entity="))
    return next(entities, "").removeprefix("Entity=")
