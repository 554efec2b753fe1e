"""One stream of documents from any mixture of inputs."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from headscope.corpora.document import Document
from headscope.corpora.files import EXPECTED_TEXT, SUFFIXES, expand, open_text, split_lines
from headscope.corpora.opening import GIVE, is_pipe, source_name
from headscope.corpora.text.features import EXPECTED_FEATURES, feature_documents
from headscope.corpora.text.plain import text_documents
from headscope.errors import InputError, OptionError


def read_corpus(
    paths: str | Path | Sequence[str | Path], *, limit_documents: int | None = None
) -> Iterator[Document]:
    """Return the documents of files, directories and `-`, in order, with ids that are unique over them all.

    `.json` and `.jsonl` files (gzipped or not) are read as features (`read_features`), others as text
    (`read_text`). Standard input, and a pipe whose name has no ending that is known (`<(...)`), is text unless its
    first character that is no white space is `[` (a JSON list) or `{` (JSON Lines). Files are opened one after
    another as the documents are drawn.

    Args:
        paths: as `files.expand` takes them; looked up at once, before the first document is drawn.
        limit_documents: how many documents to read at most; all of them when None.

    Raises:
        InputError: no path, a path that does not exist, a treebank, and what the readers raise.
        OptionError: a limit under 1.
    """
    if limit_documents is not None and limit_documents < 1:
        raise OptionError(
            f"expected a limit of 1 document or more, found {limit_documents}; leave it out for all"
        )
    return islice(_documents(list(expand(paths))), limit_documents)


def _documents(paths: list[Path | Literal["-"]]) -> Iterator[Document]:
    ordinal = 0
    for path in paths:
        for document in _documents_of(path, ordinal):
            ordinal += 1
            yield document
    if not ordinal:
        raise InputError(f"the corpus has no document: {GIVE}")


def _documents_of(path: Path | Literal["-"], start: int) -> Iterator[Document]:
    name = source_name(path)
    suffix = "" if path == "-" else Path(path.name.lower().removesuffix(".gz")).suffix
    if path == "-" or (is_pipe(path) and suffix not in (".conllu", *SUFFIXES)):
        yield from _piped_documents(path, name, start)
        return
    if suffix == ".conllu":  # its columns would be read as language
        raise InputError(f"{name} is a treebank, not text; give it with --treebank (or --coref)")
    if suffix in (".json", ".jsonl"):
        pieces = open_text(path, expected=EXPECTED_FEATURES)
        yield from feature_documents(pieces, name=name, by_line=suffix == ".jsonl", start=start)
    else:
        lines = split_lines(open_text(path), name=name)
        yield from text_documents(lines, name=name, start=start)


def _piped_documents(path: Path | Literal["-"], name: str, start: int) -> Iterator[Document]:
    seen: list[str] = []
    begin = ""
    pieces = open_text(path)
    for piece in pieces:
        seen.append(piece)
        if begin := piece.lstrip()[:1]:
            break
    else:
        raise InputError(f"{name} has only blank lines: expected {EXPECTED_TEXT}")
    text = chain(seen, pieces)
    if begin not in "[{":
        yield from text_documents(split_lines(text, name=name), name=name, start=start)
        return
    try:
        yield from feature_documents(text, name=name, by_line=begin == "{", start=start)
    except InputError as error:
        raise InputError(f"{error} ({name} that begins with {begin} is read as JSON, not as text)") from None
