"""The treebank formats of Clark et al. 2019's code: `word head-label` lines, and JSON with heads and relations."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.corpora.document import Document
from headscope.corpora.features import feature_documents
from headscope.corpora.files import split_lines
from headscope.corpora.formats import Format
from headscope.corpora.trees.tree import MAX_ROWS, check_relations, check_tree, read_heads, shown, too_long
from headscope.errors import InputError

EXPECTED_LINES = "a word and its head-label on each line (fox 3-nsubj), with a blank line between sentences"
EXPECTED_ENTRIES = "JSON objects, each with words, heads and relns"


def relation_line_documents(lines: Iterable[str], *, name: str) -> Iterator[AnnotatedDocument]:
    """Yield the sentences of a file of `word head-label` lines, each as a document, because the format marks none.

    The label is the text after the first hyphen, so it may contain others. A line of white space is blank; the last
    sentence counts with or without a blank line after it (the original's code loses it without).

    Args:
        lines: lines of the file.
        name: name of the file in errors.

    Raises:
        InputError: there is no sentence, a line is not a word and its head-label, or heads are not a tree
            (`tree.check_tree`).
    """
    empty = True
    for first, block in _blocks(lines, name):
        sentence = _sentence(block, first, name)
        yield AnnotatedDocument(sentences=(sentence,), origin=sentence.origin)
        empty = False
    if empty:
        raise InputError(f"{name} has no sentence: expected {EXPECTED_LINES}")


def _blocks(lines: Iterable[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, lines) of every run of lines that are not blank."""
    block: list[str] = []
    number = 0
    for number, line in enumerate(lines, 1):
        if line.strip():
            block.append(line)
            if len(block) > MAX_ROWS:
                raise too_long(f"{name}, line {number + 1 - len(block)}")
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield number + 1 - len(block), block


def _sentence(block: list[str], first: int, name: str) -> AnnotatedSentence:
    origins = [f"{name}, line {number}" for number in range(first, first + len(block))]
    words, written, relations = [], [], []
    for line, origin in zip(block, origins, strict=True):
        fields = line.split()
        if len(fields) != 2:
            raise InputError(f"{origin}: {_wrong(line, fields)}")
        head, hyphen, relation = fields[1].partition("-")
        if not hyphen:
            raise InputError(f"{origin}: expected head-label after the word (3-nsubj), found {shown(fields[1])}")
        words.append(fields[0])
        written.append(head)
        relations.append(relation)
    heads = read_heads(written, words=words, origins=origins)
    check_relations(relations, words=words, origins=origins)
    check_tree(words, heads, origins=origins)
    return AnnotatedSentence(words=tuple(words), heads=heads, relations=tuple(relations), origin=origins[0])


def _wrong(line: str, fields: list[str]) -> str:
    came = f"{len(fields)} fields" if len(fields) > 1 else f"only {shown(fields[0])}"
    hint = "; a CoNLL-U file must be named .conllu" if line.count("\t") == 9 or line[0] == "#" else ""
    return f"expected a word and its head-label with a space between them (fox 3-nsubj), found {came}{hint}"


def _documents(pieces: Iterable[str], /, *, name: str, left_out: Counter[str]) -> Iterator[AnnotatedDocument]:
    return relation_line_documents(split_lines(pieces, name=name), name=name)


FORMAT = Format(expected=EXPECTED_LINES, documents=_documents, example="it 2-nsubj\nslept 0-root\n")


def entry_documents(
    pieces: Iterable[str], *, name: str, by_line: bool, left_out: Counter[str]
) -> Iterator[AnnotatedDocument]:
    """Yield a document for each entry of one file; `left_out` counts the entry's fields that a document cannot hold.

    Raises:
        InputError: as in `features.feature_documents` and `tree_of_entry`.
    """
    for entry in feature_documents(pieces, name=name, by_line=by_line):
        if others := entry.fields.keys() - {"heads", "relns"}:
            left_out["other fields of entries"] += len(others)
        yield tree_of_entry(entry)


def tree_of_entry(entry: Document) -> AnnotatedDocument:
    """Return the sentence of an entry of the original's features, as a separate document.

    Raises:
        InputError: it has no `words`, `heads` or `relns`, or they are not a tree: the numbers of heads, relations and
            words differ, heads are not whole numbers, or `tree.check_tree` rejects them.
    """
    at, words = entry.origin, entry.words
    if words is None:
        came = "text" if entry.tokens is None else "tokens"
        raise InputError(f"{at}: expected words, heads and relns, found {came} in place of words; add the words")
    heads, relations = _list(entry, "heads"), _list(entry, "relns")
    if not len(words) == len(heads) == len(relations):
        raise InputError(
            f"{at}: expected a head and a relation for each word, found {len(words)} words, {len(heads)} heads and "
            f"{len(relations)} relns"
        )
    origins = [at] * len(words)
    for word, head, relation in zip(words, heads, relations):
        if not isinstance(head, int) or isinstance(head, bool):
            raise InputError(
                f"{at}: the head of {shown(word)} is {_shown(head)}; expected a whole number: 0 for the root, or "
                "the position of its head from 1"
            )
        if not isinstance(relation, str):
            raise InputError(f"{at}: the relation of {shown(word)} is {_shown(relation)}; expected a string")
    check_relations(relations, words=words, origins=origins)
    check_tree(words, heads, origins=origins)
    sentence = AnnotatedSentence(words=words, heads=tuple(heads), relations=tuple(relations), origin=at)
    return AnnotatedDocument(sentences=(sentence,), origin=at)


def _list(entry: Document, name: str) -> list[Any]:
    value = entry.fields.get(name)
    if isinstance(value, list):
        return value
    came = _shown(value) if name in entry.fields else "none"
    raise InputError(f"{entry.origin}: expected {name} to be a list, an item for each word, found {came}")


def _shown(value: Any) -> str:
    return shown(value) if isinstance(value, str) else json.dumps(value)[:40]


_EXAMPLE = '{"words": ["it", "slept"], "heads": [2, 0], "relns": ["nsubj", "root"]}'


LIST = Format(expected=EXPECTED_ENTRIES, documents=partial(entry_documents, by_line=False), example=f"[{_EXAMPLE}]")


LINES = Format(expected=EXPECTED_ENTRIES, documents=partial(entry_documents, by_line=True), example=_EXAMPLE)
