"""Unmatched brackets of mentions: the fault of each, and a check for corpora that must not have any."""

from collections.abc import Iterable, Iterator, Sequence

from headscope.corpora.annotation import AnnotatedDocument, Unmatched
from headscope.errors import InputError

MAX_UNMATCHED = 10_000  # per document; more cannot be a slip
MOST_NAMED = 100
"""Number of unmatched brackets of a corpus that its manifest lists; all are counted."""
_MOST_SAID = 3


def refusing_unmatched(documents: Iterable[AnnotatedDocument]) -> Iterator[AnnotatedDocument]:
    """Yield the documents until one has an unmatched bracket.

    Raises:
        InputError: a document has an unmatched bracket; the message names the first and says what to do.
    """
    for document in documents:
        if document.unmatched:
            first = document.unmatched[0]
            raise InputError(f"{first.origin}: {first.fault}; {first.remedy}")
        yield document


def unmatched_line(number: int, named: Sequence[str]) -> str:
    """Return a sentence with the number of a corpus's unmatched brackets and the first of them."""
    more = f"; and {number - _MOST_SAID:,} more" if number > _MOST_SAID else ""
    subject = "1 bracket of a mention matches" if number == 1 else f"{number:,} brackets of mentions match"
    which = "that mention was" if number == 1 else "those mentions were"
    return f"{subject} no other, and {which} left out: {'; '.join(named[:_MOST_SAID])}{more}"


class UnmatchedBrackets:
    """Collects the unmatched brackets of a document.

    Each has the position of its word, by which they are ordered, and its origin; all text is printable.

    Args:
        document: name of the document in the corpus.
    """

    def __init__(self, document: str) -> None:
        self._document = document
        self._found: list[tuple[int, Unmatched]] = []

    def closing(self, at: int, origin: str, label: str) -> None:
        """Add a closing bracket without an open one."""
        remedy = f"open it before with ({label} or remove the bracket"
        self._add(at, origin, f"{label}) closes a mention that is not open", remedy)

    def opening(self, at: int, origin: str, label: str) -> None:
        """Add a bracket that is never closed."""
        remedy = f"close it with {label}) at its last word"
        self._add(at, origin, f"the mention ({label} is never closed", remedy)

    def out_of_order(self, at: int, origin: str, entity: str, part: int, total: int) -> None:
        """Add a part of a mention that was not preceded by the part before it."""
        fault = f"part {part} of {total} of a mention of {entity} is out of order"
        remedy = f"number the parts of a mention in order, from [1/{total}] to [{total}/{total}]"
        self._add(at, origin, fault, remedy)

    def unfinished(self, at: int, origin: str, entity: str, part: int, total: int) -> None:
        """Add the last part that was read of a mention with further parts."""
        fault = f"the mention of {entity} with a part {part} of {total} has no part {part + 1}"
        self._add(at, origin, fault, "add it, or take the numbers in square brackets away")

    def in_order(self) -> tuple[Unmatched, ...]:
        """Return the collected brackets in the order of the document."""
        return tuple(bracket for _, bracket in sorted(self._found, key=lambda pair: pair[0]))

    def _add(self, at: int, origin: str, fault: str, remedy: str) -> None:
        if len(self._found) == MAX_UNMATCHED:
            raise InputError(
                f"{origin}: {fault}, after {MAX_UNMATCHED:,} brackets of this document that match no other either; "
                "expected coreference as in CoNLL-2012, GUM or CorefUD; give another file"
            )
        new_bracket = Unmatched(document=self._document, origin=origin, fault=fault, remedy=remedy)
        self._found.append((at, new_bracket))
