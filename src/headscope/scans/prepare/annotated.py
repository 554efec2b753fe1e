"""Treebanks and coreference corpora that can be read twice: first for hash and counts, then for the model."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import Any

from headscope.corpora.annotation import AnnotatedDocument, refusing_unmatched
from headscope.corpora.by_name import resolve
from headscope.corpora.document import Document, distinct
from headscope.corpora.mentions.gap_rows import GapRow, read_gap
from headscope.corpora.reading import Ordered
from headscope.corpora.trees.treebank import coreference_files, read_coreference, read_treebank
from headscope.encoding.max_inputs import draw_inputs
from headscope.encoding.tokenizer.alignment import join_words
from headscope.installing import demo_treebank
from headscope.scans.prepare.text_corpus import CorpusFiles, named

DEMO_NAME = "synthetic English, 250 documents"


@cache
def demo_documents() -> tuple[AnnotatedDocument, ...]:
    """Read the demonstration treebank; cached, because several corpora use it."""
    return tuple(read_treebank(demo_treebank()))


def _demonstration() -> Iterator[AnnotatedDocument]:
    return iter(demo_documents())


class AnnotatedCorpus:
    """Documents with trees or mentions, read again from the files at each reading.

    Args:
        read: function that opens the corpus.
        name: name shown to the user.
        strict: whether an unmatched bracket of a mention is an error.
        spacing: whether words are joined as they are `written` or by spaces (`words`).

    Attributes:
        documents, sentences, words, mentions: number of each; known after `digest`.
        relations: count of each label; known after `digest`.
        trees: whether any sentence has a tree; known after `digest`.
        hash: the last result of `digest`; empty before.
        files: name of each file by the hash of its sentences (`study.overlap`); known after `digest`.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[AnnotatedDocument]],
        *,
        name: str,
        strict: bool = False,
        spacing: str = "written",
    ) -> None:
        self._read, self._strict, self._spacing = read, strict, spacing
        self._corpus = Ordered(self._documents, name=name)
        self.name = name
        self.documents = self.sentences = self.words = self.mentions = 0
        self.relations: Counter[str] = Counter()
        self.trees = False
        self.hash = ""
        self.files: dict[str, str] = {}

    @classmethod
    def treebank(cls, paths: tuple[str, ...], **how: Any) -> "AnnotatedCorpus":
        """Open a treebank from files, folders or names; open the synthetic one if no path is given."""
        read = CorpusFiles(paths, read_treebank, locate=resolve) if paths else _demonstration
        return cls(read, name=named(paths) or DEMO_NAME, **how)

    @classmethod
    def coreference(cls, paths: tuple[str, ...], **how: Any) -> "AnnotatedCorpus":
        """Open files with mentions, or folders of them; open the synthetic ones if no path is given."""
        read = CorpusFiles(paths, read_coreference) if paths else _demonstration
        return cls(read, name=named(paths) or DEMO_NAME, **how)

    def _documents(self) -> Iterator[AnnotatedDocument]:
        documents = self._read()
        if self._strict:
            documents = refusing_unmatched(documents)
        return all_apart(documents) if self._spacing == "words" else documents

    def digest(self) -> str:
        """Read and count the whole corpus; return its hash, 32 hex digits of BLAKE2b."""
        self.documents = self.sentences = self.words = self.mentions = 0
        self.relations, self.trees = Counter(), False
        contents = FileContents(self.name)
        for document in self._corpus.first():
            self.documents += 1
            self.sentences += len(document.sentences)
            self.mentions += len(document.mentions)
            for sentence in document.sentences:
                self.words += len(sentence)
                self.trees = self.trees or bool(sentence.heads)
                self.relations.update(sentence.relations)
            contents.add(document)
        self.files = contents.names()
        self.hash = self._corpus.hexdigest
        return self.hash

    def read(self, *, sentences: int | None = None, seed: int = 0) -> Iterator[AnnotatedDocument]:
        """Yield the documents; with a limit, yield only the drawn sentences and the documents that have one.

        Args:
            sentences: maximum number of sentences, spread over the documents (`draw_inputs`); None for all.
            seed: seed of the random draw.

        Raises:
            InputError: the documents differ from an earlier reading, because the files are being written.
        """
        documents = self._corpus.read()
        if sentences is None:
            yield from documents
            return
        positions = ((document.id, number) for document in documents for number in range(len(document.sentences)))
        selected = draw_inputs(positions, limit=sentences, seed=seed)
        for document in self._corpus.read():
            numbered = enumerate(document.sentences)
            if drawn := tuple(sentence for number, sentence in numbered if (document.id, number) in selected):
                yield replace(document, sentences=drawn)

    def notes(self) -> list[str]:
        """Return notes on the corpus for the user."""
        return self._corpus.notes()


class AnnotatedText:
    """The sentences of annotated corpora as plain text, for a run without other text.

    Attributes:
        of_one_line, of_several_lines, lines: 0, because these documents are not counted by line.
    """

    of_one_line = 0
    of_several_lines = 0
    lines = 0

    def __init__(self, corpora: Iterable[AnnotatedCorpus]) -> None:
        self._corpora = list(corpora)

    @property
    def name(self) -> str:
        """Names of the files, shown to the user."""
        return ", ".join(dict.fromkeys(corpus.name for corpus in self._corpora))

    def digest(self) -> tuple[int, str]:
        """Return the number of documents and their common hash."""
        # The signature of the run has usually read each corpus already.
        hashes = [corpus.hash or corpus.digest() for corpus in self._corpora]
        number = sum(corpus.documents for corpus in self._corpora)
        return number, blake2b("".join(hashes).encode(), digest_size=16).hexdigest()

    def read(self) -> Iterator[Document]:
        """Yield the documents, one sentence per line."""
        for number, corpus in enumerate(self._corpora):
            for document in corpus.read():
                lines = tuple(s.text or join_words(s.forms, s.spaces)[0] for s in document.sentences if s.words)
                if lines:
                    # The treebank and the coreference files may contain the same document.
                    identity = document.id if number == 0 else f"{number}-{document.id}"
                    yield Document(id=identity, lines=lines, origin=document.origin)

    def notes(self) -> list[str]:
        """Return no notes, because the corpora have their own."""
        return []


class GapCorpus:
    """Rows of GAP, counted and hashed like an `AnnotatedCorpus`."""

    def __init__(self, paths: tuple[str, ...], *, spacing: str = "written") -> None:
        self.name = named(paths)
        self._files, self._spacing = CorpusFiles(paths, read_gap), spacing
        self._corpus = Ordered(self._rows, name=self.name, unit="row")

    def _rows(self) -> Iterator[GapRow]:
        if self._spacing == "written":
            return self._files()
        return distinct(replace(row, id="", spaces=()) for row in self._files())

    def digest(self) -> str:
        """Read the whole corpus; return its hash."""
        for _ in self._corpus.first():
            pass
        return self._corpus.hexdigest

    def read(self, *, limit: int | None = None, seed: int = 0) -> Iterator[GapRow]:
        """Return the rows, or a random sample of `limit` rows.

        Raises:
            InputError: the rows differ from an earlier reading, because the files are being written.
        """
        if limit is None:
            return self._corpus.read()
        rows = list(self._corpus.read())
        selected = draw_inputs(((row.id, 0) for row in rows), limit=limit, seed=seed)
        return iter([row for row in rows if (row.id, 0) in selected])

    def notes(self) -> list[str]:
        """Return notes on the corpus for the user."""
        return self._corpus.notes()


def mention_corpora(
    paths: tuple[str, ...], *, strict: bool = False, spacing: str = "written"
) -> tuple[AnnotatedCorpus | None, GapCorpus | None]:
    """Open coreference files: those with annotated mentions and those of GAP; None for a kind without files.

    Without any file the synthetic corpus is opened, which has mentions. `strict` and `spacing` are as in
    `AnnotatedCorpus`.
    """
    annotated = AnnotatedCorpus.coreference(paths, strict=strict, spacing=spacing)
    if not paths:
        return annotated, None
    files = coreference_files(paths)
    gap = GapCorpus(tuple(map(str, files.gap)), spacing=spacing) if files.gap else None
    return annotated if files.annotated else None, gap


def all_apart(documents: Iterable[AnnotatedDocument]) -> Iterator[AnnotatedDocument]:
    """Yield documents whose words are joined by spaces; they count as different documents."""
    return distinct(
        replace(document, id="", sentences=tuple(replace(each, spaces=(), written=()) for each in document.sentences))
        for document in documents
    )


class FileContents:
    """Hashes of the sentences of each file of a treebank, and of all its files together.

    Only the words and their order count. The same text under another name, compressed, in another format or with
    other trees has the same hash, because probes see the same attention over it.

    Args:
        name: name of the treebank in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._names: dict[int, str] = {}
        self._hashes = {-1: blake2b(digest_size=16)}  # of all files together

    def add(self, document: AnnotatedDocument) -> None:
        """Add the next document."""
        number, name = document.file
        self._names.setdefault(number, name or self.name)
        for sentence in document.sentences:
            words = json.dumps(sentence.words).encode() + b"\n"
            for each in (-1, number):
                self._hashes.setdefault(each, blake2b(digest_size=16)).update(words)

    def names(self) -> dict[str, str]:
        """Return the name of each file and of the whole treebank, by hash."""
        whole = {self._hashes[-1].hexdigest(): self.name}
        return whole | {self._hashes[number].hexdigest(): name for number, name in self._names.items()}
