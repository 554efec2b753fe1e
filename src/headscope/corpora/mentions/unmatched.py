"""Brackets of mentions without their other half: what is wrong with each, and a corpus that may have none."""

from collections.abc import Iterable, Iterator, Sequence

from headscope.corpora.annotation import AnnotatedDocument, Unmatched
from headscope.errors import InputError

MAX_UNMATCHED = 10_000  # of a document; with more it is no slip
MOST_NAMED = 100
"""Of a corpus, for its manifest; all are counted."""
_MOST_SAID = 3


def refusing_unmatched(documents: Iterable[AnnotatedDocument]) -> Iterator[AnnotatedDocument]:
    """Yield the documents as long as all their brackets match.

    Raises:
        InputError: one has a bracket that matches no other; names the first and says what to do.
    """
    for document in documents:
        if document.unmatched:
            first = document.unmatched[0]
            raise InputError(f"{first.origin}: {first.fault}; {first.remedy}")
        yield document


def unmatched_line(number: int, named: Sequence[str]) -> str:
    """Say how many brackets of a corpus match no other, and name the first of them."""
    more = f"; and {number - _MOST_SAID:,} more" if number > _MOST_SAID else ""
    subject = "1 bracket of a mention matches" if number == 1 else f"{number:,} brackets of mentions match"
    which = "that mention was" if number == 1 else "those mentions were"
    return f"{subject} no other, and {which} left out: {'; '.join(named[:_MOST_SAID])}{more}"


class UnmatchedBrackets:
    """Collects the brackets of a document that match no other.

    Each comes with the position of its word, by which they are ordered, and with its origin; all text is printable.

    Args:
        document: what the corpus calls the document.
    """

    def __init__(self, document: str) -> None:
        self._document = document
        self._found: list[tuple[int, Unmatched]] = []

    def closing(self, at: int, origin: str, label: str) -> None:
        """Take a bracket that closes what is not open."""
        remedy = f"open it before with ({label} or remove the bracket"
        self._add(at, origin, f"{label}) closes a mention that is not open", remedy)

    def opening(self, at: int, origin: str, label: str) -> None:
        """Take a bracket that is never closed."""
        remedy = f"close it with {label}) at its last word"
        self._add(at, origin, f"the mention ({label} is never closed", remedy)

    def out_of_order(self, at: int, origin: str, entity: str, part: int, total: int) -> None:
        """Take a part of a mention before which the part before it did not come."""
        fault = f"part {part} of {total} of a mention of {entity} is out of order"
        remedy = f"number the parts of a mention in order, from [1/{total}] to [{total}/{total}]"
        self._add(at, origin, fault, remedy)

    def unfinished(self, at: int, origin: str, entity: str, part: int, total: int) -> None:
        """Take the last part that was seen of a mention that has more."""
        fault = f"the mention of {entity} with a part {part} of {total} has no part {part + 1}"
        self._add(at, origin, fault, "add it, or take the numbers in square brackets away")

    def in_order(self) -> tuple[Unmatched, ...]:
        """Return what was collected, in the order of the document."""
        return tuple(bracket for _, bracket in sorted(self._found, key=lambda pair: pair[0]))

    def _add(self, at: int, origin: str, fault: str, remedy: str) -> None:
        if len(self._found) == MAX_UNMATCHED:
            raise InputError(
                f"{origin}: {fault}, after {MAX_UNMATCHED:,} brackets of this document that match no other either; "
                "expected coreference as in CoNLL-2012, GUM or CorefUD; give another file"
            )
        new_bracket = Unmatched(document=self._document, origin=origin, fault=fault, remedy=remedy)
        self._found.append((at, new_bracket))
