"""Text corpora that can be read twice, for the hash and for the scan, with a check that both readings are the same."""

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from headscope.corpora.by_name import resolve
from headscope.corpora.document import Document, distinct
from headscope.corpora.opening import read_once, source_name
from headscope.corpora.reading import Ordered, read_corpus
from headscope.encoding.max_inputs import characters_of, first_documents, read_enough
from headscope.errors import InputError
from headscope.visible import count

Item = TypeVar("Item")


class CorpusFiles(Generic[Item]):
    """Contents of files, read anew at each call.

    Contents of standard input or a pipe, which can be read only once, are kept in memory.

    Args:
        paths: paths as the user gave them.
        read: function that yields the contents of files.
        locate: function that finds the files of the paths and fetches corpora given by name; by default the paths are
            files.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        read: Callable[[tuple[str, ...]], Iterator[Item]],
        *,
        locate: Callable[[tuple[str, ...]], tuple[str, ...]] = tuple,
    ) -> None:
        self._paths, self._read, self._locate = paths, read, locate
        self._kept: list[Item] = []

    def __call__(self) -> Iterator[Item]:
        """Return the contents of the files.

        Raises:
            InputError: standard input or a pipe is empty.
        """
        if not read_once(self._paths):
            return self._read(self._located)
        if not self._kept:
            self._kept = list(self._read(self._located))
            if not self._kept:
                raise InputError(f"{named(self._paths)} holds no document; give a treebank, or a file")
        return iter(self._kept)

    @cached_property
    def _located(self) -> tuple[str, ...]:
        return self._locate(self._paths)


def named(paths: tuple[str, ...]) -> str:
    """Return the file names without folders, shown to the user."""
    names = [source_name(path if path == "-" else Path(path).name) for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class _Text:
    """Documents that are hashed and counted at the first reading.

    Args:
        read: function that opens the corpus.
        name: name shown to the user.
        as_written: whether documents keep the order of the files instead of the order of their ids (`Ordered`).

    Attributes:
        of_one_line: number of documents with one line, which makes no pair; known after `digest`.
        of_several_lines: number of documents with several lines.
        lines: number of documents if each line is one; known after `digest`.
        characters: total number of characters.
    """

    def __init__(self, read: Callable[[], Iterator[Document]], *, name: str, as_written: bool) -> None:
        self.name = name
        self.of_one_line = self.of_several_lines = self.lines = self.characters = 0
        self._read_blocks, self._as_written = read, as_written
        self._limit: int | None = None
        self._corpus = Ordered(read, name=name, as_written=as_written)

    def split_lines(self) -> None:
        """Read each line as a separate document from now on; call `digest` again."""

        def read() -> Iterator[Document]:
            documents = distinct(each for block in self._read_blocks() for each in _lines_of(block))
            return first_documents(documents, limit=self._limit)

        self._corpus = Ordered(read, name=self.name, as_written=self._as_written)

    def digest(self) -> tuple[int, str]:
        """Read the whole corpus; return its number of documents and its hash."""
        self.of_one_line = self.of_several_lines = self.lines = self.characters = 0
        for each in self._corpus.first():
            self.characters += characters_of(each)
            self.lines += 1 if each.whole else max(1, len(each.lines))
            if not each.whole:
                self.of_one_line += len(each.lines) == 1
                self.of_several_lines += len(each.lines) > 1
        return self._corpus.documents, self._corpus.hexdigest

    def read(self) -> Iterator[Document]:
        """Yield the documents.

        Raises:
            InputError: the documents differ from an earlier reading, because the files are being written.
        """
        return self._corpus.read()

    def notes(self) -> list[str]:
        """Return notes on the corpus for the user."""
        return self._corpus.notes()


def _lines_of(document: Document) -> Iterator[Document]:
    """Yield each line of a document as a document; a document that is a single input stays whole."""
    if document.whole or not document.lines:
        yield document
        return
    for line in document.lines:
        yield Document(lines=(line,), whole=True, origin=document.origin)


class TextCorpus(_Text):
    """Documents of files, or of standard input and pipes, which a temporary file buffers.

    Args:
        paths, by_line, column, labels: arguments of `read_corpus`.
        as_written: whether documents keep the order of the files instead of the order of their ids (`Ordered`).
        max_inputs: number of inputs requested; `read_enough` decides how many documents are read for them.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        *,
        by_line: bool = False,
        column: str | None = None,
        labels: str | None = None,
        as_written: bool = False,
        max_inputs: int | None = None,
    ) -> None:
        super().__init__(self._documents, name=named(paths), as_written=as_written)
        self._paths, self._limit = paths, max_inputs
        self._how: dict[str, Any] = {"by_line": by_line, "column": column, "labels": labels}
        self._spool: IO[str] | None = None

    @cached_property
    def _located(self) -> tuple[str, ...]:
        # Paths are found, and names fetched, when the corpus is read for the first time.
        return resolve(self._paths)

    def notes(self) -> list[str]:
        """Return notes on the corpus for the user."""
        documents = self._corpus.documents
        drawn = f"the inputs were drawn from the text's first {count(documents, 'document')}"
        is_cut = read_enough(documents, self.characters, limit=self._limit)
        return [*([drawn] if is_cut else []), *super().notes()]

    def _documents(self) -> Iterator[Document]:
        if self._spool is not None:
            self._spool.seek(0)
            for line in self._spool:
                record = json.loads(line)
                for name in ("lines", "words", "tokens"):
                    record[name] = None if record[name] is None else tuple(record[name])
                yield Document(**record)
            return
        documents = first_documents(read_corpus(self._located, **self._how), limit=self._limit)
        if not read_once(self._located):
            yield from documents
            return
        # The spool stays open as long as the corpus exists; the system removes it with the last reference.
        spool = tempfile.TemporaryFile("w+", encoding="utf-8", prefix="headscope-")  # noqa: SIM115
        for document in documents:
            spool.write(json.dumps(vars(document), default=dict) + "\n")
            yield document
        self._spool = spool


class TextInMemory(_Text):
    """Documents in memory, hashed like those of files, so that the same text is the same run."""

    def __init__(self, documents: tuple[Document, ...], *, as_written: bool = False) -> None:
        name = count(len(documents), "text in memory", "texts in memory")
        super().__init__(lambda: iter(documents), name=name, as_written=as_written)
