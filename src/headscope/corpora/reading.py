"""One stream of documents from any mixture of inputs."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from headscope.corpora.document import Document, check_label, distinct
from headscope.corpora.files import EXPECTED_TEXT, SUFFIXES, InputFile, Paths, expand, open_text
from headscope.corpora.formats import TABLES, TEXT, TextFormat, TextReader, table_format, text_format
from headscope.corpora.opening import GIVE, is_pipe, source_name
from headscope.errors import InputError, OptionError


def read_corpus(
    paths: Paths,
    *,
    limit_documents: int | None = None,
    by_line: bool = False,
    column: str | None = None,
    labels: str | None = None,
) -> Iterator[Document]:
    """Return the documents of files, directories and `-`, in order, with ids that are unique over all of them.

    `.json` and `.jsonl` files (gzipped or not) are read as features (`text.features`), `.csv`, `.tsv` and `.parquet` as
    tables with one document per row, and others as text (`read_text`). Standard input, and a pipe whose name has no
    known ending (`<(...)`), is text unless its first character other than white space is `[` (a JSON list) or `{` (JSON
    Lines). Files are opened one after another as the documents are drawn.

    Args:
        paths: paths as in `files.expand`; they are checked at once, before the first document is drawn.
        limit_documents: maximum number of documents to read; None for all.
        by_line: whether each line of plain text is a document, in place of the lines between blank ones.
        column: column of tables that holds the text. With it, a directory includes its tables.
        labels: field of each document, or column of tables, that must hold its label; None for no labels.

    Raises:
        InputError: no path is given, a path does not exist or is a treebank, a document has no label, or a reader
            raises it.
        OptionError: the limit is below 1.
    """
    if limit_documents is not None and limit_documents < 1:
        raise OptionError(f"expected a limit of 1 document or more, found {limit_documents}; leave it out for all")
    suffixes = SUFFIXES if column is None else (*SUFFIXES, *TABLES)
    files = list(expand(paths, suffixes=suffixes))
    documents = (each for path in files for each in _documents_of(path, by_line=by_line, column=column, labels=labels))
    return islice(distinct(_labeled(documents, labels)), limit_documents)


def _labeled(documents: Iterable[Document], labels: str | None) -> Iterator[Document]:
    """Yield the documents, at least one, each checked for its label."""
    empty = True
    for document in documents:
        empty = False
        check_label(document, labels)
        yield document
    if empty:
        raise InputError(f"the corpus has no document: {GIVE}")


def _documents_of(path: InputFile, *, by_line: bool, column: str | None, labels: str | None) -> Iterator[Document]:
    name = source_name(path)
    suffix = "" if path == "-" else Path(path.name.lower().removesuffix(".gz")).suffix
    if path == "-" or (is_pipe(path) and suffix not in (".conllu", *SUFFIXES, *TABLES)):
        yield from _piped_documents(path, name, by_line=by_line)
        return
    if (table := table_format(suffix)) is not None:
        yield from table.documents(path, column=column, labels=labels)
        return
    if suffix == ".conllu":  # its columns would be read as text
        raise InputError(f"{name} is a treebank, not text; give it with --treebank (or --coref)")
    form = text_format(suffix)
    yield from _reader(form, by_line)(open_text(path, expected=form.expected), name=name)


def _reader(form: TextFormat, by_line: bool) -> TextReader:
    return form.by_line if by_line and form.by_line is not None else form.documents


def _piped_documents(path: InputFile, name: str, *, by_line: bool) -> Iterator[Document]:
    beginning: list[str] = []
    begin = ""
    pieces = open_text(path)
    for piece in pieces:
        beginning.append(piece)
        if begin := piece.lstrip()[:1]:
            break
    else:
        raise InputError(f"{name} has only blank lines: expected {EXPECTED_TEXT}")
    text = chain(beginning, pieces)
    form = next((each for each in map(text_format, TEXT) if each.begins == begin), None)
    if form is None:
        yield from _reader(text_format(""), by_line)(text, name=name)
        return
    try:
        yield from form.documents(text, name=name)
    except InputError as error:
        raise InputError(f"{error} ({name} that begins with {begin} is read as JSON, not as text)") from None
