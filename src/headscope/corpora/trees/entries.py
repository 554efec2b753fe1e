"""Trees in the features files of Clark et al. 2019's code: JSON objects with `words`, `heads` and `relns`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.corpora.document import Document
from headscope.corpora.formats import TreeFormat
from headscope.corpora.text.features import feature_documents
from headscope.corpora.trees.tree import check_relations, check_tree, shown
from headscope.errors import InputError

EXPECTED_ENTRIES = "JSON objects, each with words, heads and relns"


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
LIST = TreeFormat(expected=EXPECTED_ENTRIES, documents=partial(entry_documents, by_line=False), example=f"[{_EXAMPLE}]")
LINES = TreeFormat(expected=EXPECTED_ENTRIES, documents=partial(entry_documents, by_line=True), example=_EXAMPLE)
