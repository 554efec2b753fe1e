"""A corpus that can be read twice: once for its hash, once for its attention."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headscope.corpora.digest import CorpusDigest
from headscope.corpora.document import Document
from headscope.corpora.reading import read_corpus
from headscope.corpora.remote import resolve


class Corpus:
    """Documents of files, or of standard input by way of a temporary file.

    Args:
        paths: as `read_corpus` takes them.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = resolve(paths)
        self._given = paths
        self._spool: IO[str] | None = None

    @property
    def name(self) -> str:
        """Names of the files, without their folders, for people."""
        return named(self._given)

    def digest(self) -> tuple[int, str]:
        """Read all of it once; return the number of documents and the corpus hash."""
        documents = CorpusDigest(read_corpus(self.paths))
        if "-" in self.paths:
            # Open for as long as the corpus lives; the system removes it with the last reference.
            spool = tempfile.TemporaryFile("w+", encoding="utf-8", prefix="headscope-")  # noqa: SIM115
            self._spool = spool
            for document in documents:
                spool.write(json.dumps(vars(document), default=dict) + "\n")
        else:
            for _ in documents:
                pass
        return documents.documents, documents.hexdigest

    def read(self) -> Iterator[Document]:
        """Yield the documents."""
        if self._spool is None:
            yield from read_corpus(self.paths)
            return
        self._spool.seek(0)
        for line in self._spool:
            record = json.loads(line)
            for name in ("lines", "words", "tokens"):
                record[name] = None if record[name] is None else tuple(record[name])
            yield Document(**record)


def named(paths: tuple[str, ...]) -> str:
    """Names of files, without their folders, for people."""
    names = ["standard input" if path == "-" else Path(path).name for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
