"""The corpus of a training: documents of text, and sentences of treebanks."""

from collections.abc import Iterator
from pathlib import Path

from headscope.corpora.by_name import resolve
from headscope.corpora.document import Document
from headscope.corpora.opening import read_once, source_name
from headscope.corpora.reading import Passes, read_corpus
from headscope.corpora.trees.treebank import read_treebank
from headscope.errors import InputError


class TrainingText:
    """Documents that can be read twice: once for a tokenizer, once for the model.

    Args:
        text: files, folders, names of corpora, or `-`.
        treebank: files, folders, names of treebanks, or `-`.
    """

    def __init__(self, *, text: tuple[str, ...] = (), treebank: tuple[str, ...] = ()) -> None:
        self._text, self._treebank = resolve(text), resolve(treebank)
        self.name = ", ".join(_name(path) for path in (*text, *treebank))
        self._passes: Passes[Document] = Passes(self.name)
        # Standard input and pipes can be read only once, so their documents are kept.
        self._kept: list[Document] | None = [] if read_once((*text, *treebank)) else None

    def read(self) -> Iterator[Document]:
        """Yield the documents: those of the text, then those of the treebanks, their sentences as lines.

        Raises:
            InputError: an error of the readers; or the documents differ from an earlier reading, because a process is
                writing to the files.
        """
        if self._kept:
            yield from self._kept
            return
        for document in self._passes.watch(self._documents):
            if self._kept is not None:
                self._kept.append(document)
            yield document

    def lines(self) -> Iterator[str]:
        """Yield the corpus as lines of text, for a tokenizer.

        Raises:
            InputError: a document is already tokenized.
        """
        for document in self.read():
            if document.tokens is not None:
                raise InputError(
                    f"{document.origin}: expected text or words to train a tokenizer on, found tokens; give "
                    "--tokenizer the one that they were cut by"
                )
            yield from document.lines if document.words is None else (" ".join(document.words),)

    def _documents(self) -> Iterator[Document]:
        if self._text:
            yield from read_corpus(self._text)
        if self._treebank:
            for tree in read_treebank(self._treebank):
                lines = tuple(s.text or " ".join(s.words) for s in tree.sentences if s.words)
                if lines:
                    # Lines of a treebank are sentences: each is an input, and none is packed with another.
                    yield Document(id=f"tree-{tree.id}", lines=lines, whole=True, origin=tree.origin)


def _name(path: str) -> str:
    return source_name(path if path == "-" else Path(path).name)
