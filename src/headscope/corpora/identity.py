"""Ids and copies of documents: an id is a hash of the content, so that a document's position does not matter."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from headscope.counted import count

COPIES_FROM = 0.05
"""The share of copies among documents from which on a run reports them."""
_RECENT = 1 << 10


@runtime_checkable
class Identified(Protocol):
    """A document of any kind, with an id."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def id(self) -> str:
        """The hash of its content."""

    def text(self) -> Iterable[str]:
        """Return the text that the model reads."""


Item = TypeVar("Item", bound=Identified)


def distinct(documents: Iterable[Item]) -> Iterator[Item]:
    """Yield documents with unique ids: the second of equal ones gets `-2` after its id, and so on.

    Equal documents are interchangeable, so their order decides nothing either.
    """
    numbering = Numbering()
    for document in documents:
        unique = numbering.unique(document.id)
        yield document if unique == document.id else replace(document, id=unique)


class Copies:
    """Counts documents whose text occurred before, in 8 bytes per document."""

    def __init__(self) -> None:
        self._texts = array("Q")

    def add(self, document: Identified) -> None:
        """Add the next document."""
        digest = blake2b("\x1f".join(document.text()).encode("utf-8", "surrogatepass"), digest_size=8)
        self._texts.append(int.from_bytes(digest.digest(), "little"))

    def note(self, name: str) -> str | None:
        """Return a note on the copies; None below 5% of the documents."""
        documents = len(self._texts)
        if not documents:
            return None
        import numpy as np  # here, so that code which only reads a corpus does not import it

        copies = documents - len(np.unique(np.frombuffer(self._texts, dtype=np.uint64)))
        if not copies or copies < COPIES_FROM * documents:
            return None
        return (
            f"{count(copies, 'document')} of the {documents:,} of {name} ({100 * copies / documents:.0f}%) "
            f"{'repeats' if copies == 1 else 'repeat'} the text of another; intervals and tests count each as "
            "independent, so they claim too much: keep one of each"
        )


class Numbering:
    """Makes ids unique, in about 20 bytes per id: most previous ids are in one sorted array."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = array("Q")
        self._repeated: dict[int, int] = {}

    def unique(self, document_id: str) -> str:
        """Return an id unchanged the first time, `ID-2` the second, and so on."""
        number = int(document_id, 16)
        index = bisect_left(self._sorted, number)
        if number in self._recent or (index < len(self._sorted) and self._sorted[index] == number):
            self._repeated[number] = self._repeated.get(number, 1) + 1
            return f"{document_id}-{self._repeated[number]}"
        self._recent.add(number)
        if len(self._recent) > max(_RECENT, len(self._sorted) // 8):
            import numpy as np

            recent = np.fromiter(self._recent, dtype=np.uint64)
            merged = np.append(np.frombuffer(self._sorted, dtype=np.uint64), recent)
            self._sorted = array("Q", np.sort(merged).tobytes())
            self._recent.clear()
        return document_id
