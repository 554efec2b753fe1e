"""One stream of documents from any mixture of inputs, also read several times, each reading compared with the first.

An id is a hash of the content: documents that are read in the order of their ids give the same inputs, batches and
sums to the last digit, whatever order and files they were written in.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Generic, NoReturn, TypeVar

from headscope.corpora.document import Copies, Document, Identified, check_label, distinct
from headscope.corpora.files import EXPECTED_TEXT, SUFFIXES, InputFile, Paths, expand, open_text
from headscope.corpora.formats import TABLES, TEXT, Format, load_format
from headscope.corpora.opening import GIVE, is_pipe, source_name
from headscope.errors import InputError, OptionError
from headscope.visible import count

Item = TypeVar("Item", bound=Identified)
MOST_HELD = 1 << 25
"""Maximum number of characters of a corpus that is held in memory to be sorted. A larger one is read from its files
each time, in their order: its draws and groups are the same in any order, but its batches and so the last digits of
float32 are not."""
A_DOCUMENT = 1 << 9
"""Characters that a document counts in addition to its own, so that millions of one-letter documents are not held."""


class Passes(Generic[Item]):
    """Check a corpus that is read more than once, because a file may change between two readings, or during one.

    The first reading is stored as an 8-byte hash of each document: of its id, and of whether its lines are whole
    inputs. A later reading is compared while it runs, so that no run finishes that was measured on other documents. A
    reading that stops early, such as one with a limit, is compared up to that point.

    Args:
        name: name of the corpus in errors.
        unit: word for a document in errors.
    """

    def __init__(self, name: str, *, unit: str = "document") -> None:
        self.name, self.unit = name, unit
        self._known = array("Q")
        self._whole = False

    @property
    def items(self) -> int:
        """The number of known documents."""
        return len(self._known)

    def hexdigest(self, *, any_order: bool) -> str:
        """Return the hash of the known documents: 32 hexadecimal digits of BLAKE2b.

        Args:
            any_order: whether the hash is independent of their order.
        """
        import numpy as np  # here, so that code which only reads a corpus does not import it

        known = np.array(self._known, dtype="<u8")
        return blake2b((np.sort(known) if any_order else known).tobytes(), digest_size=16).hexdigest()

    def watch(self, read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
        """Yield the items of a reading, comparing them with the first reading.

        Raises:
            InputError: as in `read`; or a document is missing, new, or another than in an earlier reading.
        """
        index = 0
        try:
            for item in read():
                self._compare(index, f"{item.id} whole" if getattr(item, "whole", False) else item.id)
                index += 1
                yield item
        except InputError as error:
            if self._whole and not isinstance(error, _Changed):  # an earlier reading reached the end
                self._refuse(str(error))
            raise
        if index < len(self._known):
            self._refuse(f"it has {count(index, self.unit)} and had {len(self._known):,}")
        self._whole = True

    def _compare(self, index: int, identity: str) -> None:
        key = int.from_bytes(blake2b(identity.encode(), digest_size=8).digest(), "little")
        if index == len(self._known) and not self._whole:
            self._known.append(key)
        elif index == len(self._known):
            self._refuse(f"it goes on behind {self.unit} {index:,}, which was its last")
        elif self._known[index] != key:
            self._refuse(f"{self.unit} {index + 1:,} is another than before")

    def _refuse(self, what: str) -> NoReturn:
        raise _Changed(f"{self.name} changed while it was read: {what}; run again when nothing writes to it") from None


class _Changed(InputError):
    """An error for a reading that differs from an earlier one."""


class Ordered(Generic[Item]):
    """Documents that may be read several times, sorted by id unless they are too many to be held in memory.

    Args:
        read: function that opens the corpus.
        name: name of the corpus in errors.
        unit: word for a document in errors.
        as_written: whether the original order is kept, for values drawn from one stream over the corpus.
    """

    def __init__(
        self, read: Callable[[], Iterator[Item]], *, name: str, unit: str = "document", as_written: bool = False
    ) -> None:
        self._read_anew, self._as_written = read, as_written
        self._passes: Passes[Item] = Passes(name, unit=unit)
        self._name = name
        self._held: list[Item] | None = None
        self._begun = False
        self._copies = Copies()

    @property
    def documents(self) -> int:
        """The number of documents; known after `first`."""
        return self._passes.items

    @property
    def hexdigest(self) -> str:
        """The hash of the corpus: 32 hexadecimal digits of BLAKE2b; known after `first`."""
        return self._passes.hexdigest(any_order=not self._as_written)

    def first(self) -> Iterator[Item]:
        """Yield the documents as they are read; the caller must exhaust the iterator, once."""
        self._begun, self._copies = True, Copies()
        documents: list[Item] | None = []
        size = 0
        for document in self._passes.watch(self._read_anew):
            self._copies.add(document)
            if documents is not None:
                documents.append(document)
                size += A_DOCUMENT + sum(map(len, document.text()))
                documents = documents if size <= MOST_HELD else None
            yield document
        if documents is not None:
            self._held = documents if self._as_written else sorted(documents, key=lambda document: document.id)

    def read(self) -> Iterator[Item]:
        """Yield the documents.

        Raises:
            InputError: they differ from an earlier reading because something writes to the files.
        """
        if not self._begun:
            for _ in self.first():
                pass
        return self._passes.watch(self._read_anew) if self._held is None else iter(self._held)

    def notes(self) -> list[str]:
        """Return notes on the corpus for the user: copies of documents, if they are many."""
        return list(filter(None, [self._copies.note(self._name)]))


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
    tables with one document per row, and others as text (`plain`). Standard input, and a pipe whose name has no
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
    if suffix in TABLES:
        yield from load_format(TABLES, suffix).documents(path, column=column, labels=labels)
        return
    if suffix == ".conllu":  # its columns would be read as text
        raise InputError(f"{name} is a treebank, not text; give it with --treebank (or --coref)")
    form = load_format(TEXT, suffix)
    yield from _reader(form, by_line)(open_text(path, expected=form.expected), name=name)


def _reader(form: Format, by_line: bool) -> Callable[..., Iterator[Document]]:
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
    form = next((each for each in (load_format(TEXT, ending) for ending in TEXT) if each.begins == begin), None)
    if form is None:
        yield from _reader(load_format(TEXT, ".txt"), by_line)(text, name=name)
        return
    try:
        yield from form.documents(text, name=name)
    except InputError as error:
        raise InputError(f"{error} ({name} that begins with {begin} is read as JSON, not as text)") from None
