"""Treebanks from any mixture of files, and from one format to another."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from headscope.corpora.annotation import AnnotatedDocument, Sentence
from headscope.corpora.document import Document
from headscope.corpora.files import expand, open_text, split_lines
from headscope.corpora.opening import is_pipe, source_name
from headscope.corpora.text.features import feature_documents
from headscope.corpora.trees.conllu import EXPECTED_CONLLU, conllu_documents
from headscope.corpora.trees.relation_lines import EXPECTED_LINES, relation_line_documents
from headscope.corpora.trees.tree import check_relations, check_tree, shown
from headscope.errors import InputError

GIVE_TREEBANK = (
    "give a .conllu file, a .txt file of word head-label lines, a .json file with words, heads and relns, or a "
    "directory of them"
)
EXPECTED_ENTRIES = "JSON objects, each with words, heads and relns"
SUFFIXES = (".conllu", ".json", ".jsonl", ".txt")


def read_treebank(
    paths: str | Path | Sequence[str | Path], *, left_out: Counter[str] | None = None
) -> Iterator[AnnotatedDocument]:
    """Return the documents of treebanks of any format, in order, with ids that are unique over them all.

    The ending says the format, before `.gz` where that follows: `.conllu` is CoNLL-U (`conllu.read_conllu`),
    `.json` and `.jsonl` are the original's features with `words`, `heads` and `relns`, each entry a document; any
    other file has `word head-label` lines (`relation_lines.read_relation_lines`). A directory means its `.conllu`
    files, or without any its other files with these endings and `.txt`: treebanks come with licences and plain
    text beside them. Standard input is CoNLL-U, and so is a pipe without such an
    ending (`<(...)`). Files are opened one after another as the documents are drawn.

    Args:
        paths: files, directories, or `-`; looked up at once, before the first document is drawn.
        left_out: counts what the formats hold and a document does not, by name, as the documents are drawn.

    Raises:
        InputError: no path, a path that does not exist, and what the readers raise; an entry whose lists are not
            a tree over its words.
    """
    given = [paths] if isinstance(paths, str | Path) else paths
    list(expand([path for path in given if str(path) == "-"]))  # refuses it twice, as one call for all would
    files = [file for path in given for file in _files_of(path)]
    if not files:
        raise InputError(f"the treebank has no file: {GIVE_TREEBANK}")
    return _documents(files, Counter() if left_out is None else left_out)


def _files_of(path: str | Path) -> list[Path | Literal["-"]]:
    files = list(expand(path, suffixes=SUFFIXES, what="treebank", give=GIVE_TREEBANK))
    return [file for file in files if form_of(file) == ".conllu"] or files


def form_of(path: str | Path) -> str:
    """Return the ending that says a file's format, in lower case and without `.gz`; a nameless pipe is CoNLL-U."""
    ending = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    return ".conllu" if str(path) == "-" or (ending not in SUFFIXES and is_pipe(path)) else ending


def _documents(files: Iterable[Path | Literal["-"]], left_out: Counter[str]) -> Iterator[AnnotatedDocument]:
    ordinal = 0
    for number, file in enumerate(files):
        for document in _documents_of(file, ordinal, left_out):
            ordinal += 1
            yield replace(document, file=(number, source_name(file)))


def _documents_of(
    file: Path | Literal["-"], start: int, left_out: Counter[str]
) -> Iterator[AnnotatedDocument]:
    name, form = source_name(file), form_of(file)
    if form in (".json", ".jsonl"):
        pieces = open_text(file, expected=EXPECTED_ENTRIES)
        for entry in feature_documents(pieces, name=name, by_line=form == ".jsonl", start=start):
            if others := entry.fields.keys() - {"heads", "relns"}:
                left_out["other fields of entries"] += len(others)
            yield tree_of_entry(entry)
    elif form == ".conllu":
        lines = split_lines(open_text(file, expected=EXPECTED_CONLLU), name=name)
        yield from conllu_documents(lines, name=name, start=start, left_out=left_out)
    else:
        lines = split_lines(open_text(file, expected=EXPECTED_LINES), name=name)
        yield from relation_line_documents(lines, name=name, start=start)


def tree_of_entry(entry: Document) -> AnnotatedDocument:
    """Return the sentence that an entry of the original's features holds, as a document of its own.

    Raises:
        InputError: it has no `words`, `heads` or `relns`, or they are not a tree: other than as many whole numbers
            and relations as words, or heads that `trees.check_tree` refuses.
    """
    at, words = entry.origin, entry.words
    if words is None:
        found = "text" if entry.tokens is None else "tokens"
        raise InputError(
            f"{at}: expected words, heads and relns, found {found} in place of words; add the words"
        )
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
    sentence = Sentence(words=words, heads=tuple(heads), relations=tuple(relations), origin=at)
    return AnnotatedDocument(id=entry.id, sentences=(sentence,), origin=at)


def _list(entry: Document, name: str) -> list[Any]:
    value = entry.fields.get(name)
    if isinstance(value, list):
        return value
    found = _shown(value) if name in entry.fields else "none"
    raise InputError(f"{entry.origin}: expected {name} to be a list, an item for each word, found {found}")


def _shown(value: Any) -> str:
    return shown(value) if isinstance(value, str) else json.dumps(value)[:40]
