"""Documents with gold structure: dependency trees, mentions of entities, or both; and unmatched brackets."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpora.document import document_id
from headscope.errors import InputError

MAX_UNMATCHED = 10_000  # per document; more cannot be a slip
MOST_NAMED = 100
"""Number of unmatched brackets of a corpus that its manifest lists; all are counted."""
_MOST_SAID = 3


@dataclass(frozen=True, kw_only=True)
class AnnotatedSentence:
    """A sentence as words, with its tree and its tags if the corpus has them.

    Attributes:
        words: syntactic words (`au` is `à` `le`).
        heads: position of each word's head, from 1; 0 for the root. Empty if there is no tree.
        relations: each word's relation to its head, as written in the corpus (`nsubj:pass`). Empty if there is no tree.
        tags: each word's part of speech, universal (`NOUN`) or Penn (`NN`). Empty if there are none.
        text: original text of the sentence; empty if the corpus does not give it.
        spaces: whether white space follows each word in the original text; empty if it always does, or if it is
            unknown.
        written: written form of each word, if words share one: `au` for `à`, and an empty string for `le`; empty if
            each word is its own written form.
        origin: place in the file, for messages: `dev.conllu, line 12`.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    text: str = ""
    spaces: tuple[bool, ...] = ()
    written: tuple[str, ...] = ()
    origin: str = ""

    @property
    def forms(self) -> tuple[str, ...]:
        """The form that the model reads for each word; empty for a word that shares the form of the word before it."""
        return self.written or self.words

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, order=True, slots=True)
class Mention:
    """A span of words that names an entity.

    Attributes:
        start: position of its first word, counted from 0 through the whole document.
        end: position after its last word.
        entity: id of the entity; equal for all mentions of one entity of a document.
    """

    start: int
    end: int
    entity: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmatched:
    """An unmatched bracket of a mention; the mention is left out.

    Attributes:
        document: printable name of the document in the corpus; empty if it has no name.
        origin: place in the file: `dev.conllu, line 12`.
        fault: description of the fault, with the bracket as it is written.
        remedy: what to do about it.
    """

    document: str
    origin: str
    fault: str
    remedy: str

    def __str__(self) -> str:
        """Describe the bracket for users: its place without the file's folder, and the fault."""
        origin = Path(self.origin).name
        return f"{origin} (document {self.document}): {self.fault}" if self.document else f"{origin}: {self.fault}"


@dataclass(frozen=True, kw_only=True)
class AnnotatedDocument:
    """A document of sentences; the unit of resampling.

    Attributes:
        sentences: sentences in order.
        mentions: mentions sorted by start, longer first; empty if the corpus has no coreference.
        unmatched: unmatched brackets of mentions, in order; their mentions are not among `mentions`.
        origin: place where it begins, for messages.
        file: index of its file among a treebank's files, from 0, and that file's name; not part of its content.
        id: hash of its content (`document.document_id`) if none is given; equal documents are numbered.
    """

    sentences: tuple[AnnotatedSentence, ...]
    mentions: tuple[Mention, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    origin: str = ""
    file: tuple[int, str] = field(default=(0, ""), compare=False)
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", document_id(self.content()))

    def content(self) -> bytes:
        """Return the bytes that identify it: everything that may be read or reported of it, except its place."""
        sentences = [
            (each.words, each.heads, each.relations, each.tags, each.spaces, each.text, *filter(None, [each.written]))
            for each in self.sentences
        ]
        mentions = [(mention.start, mention.end, mention.entity) for mention in self.mentions]
        faults = [each.fault for each in self.unmatched]
        return json.dumps([sentences, mentions, faults], separators=(",", ":")).encode()

    def text(self) -> Iterable[str]:
        """Return the text that the model reads, in pieces."""
        return self.words

    @property
    def words(self) -> tuple[str, ...]:
        """All words of the document."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @property
    def forms(self) -> tuple[str, ...]:
        """The form that the model reads for each word, as in its sentences."""
        return tuple(form for sentence in self.sentences for form in sentence.forms)

    @property
    def spaces(self) -> tuple[bool, ...]:
        """Whether white space follows each word; empty if none of its sentences gives it."""
        if not any(sentence.spaces for sentence in self.sentences):
            return ()
        return tuple(space for sentence in self.sentences for space in sentence.spaces or (True,) * len(sentence))

    def starts(self) -> Iterator[int]:
        """Yield the position of each sentence's first word in the document, from 0."""
        at = 0
        for sentence in self.sentences:
            yield at
            at += len(sentence)


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

    def in_order(self) -> tuple[Unmatched, ...]:
        """Return the collected brackets in the order of the document."""
        return tuple(bracket for _, bracket in sorted(self._found, key=lambda pair: pair[0]))

    def add(self, at: int, origin: str, fault: str, remedy: str) -> None:
        """Add a bracket.

        Args:
            at: position of its word.
            origin: place in the file.
            fault: description of the fault.
            remedy: what to do about it.
        """
        if len(self._found) == MAX_UNMATCHED:
            raise InputError(
                f"{origin}: {fault}, after {MAX_UNMATCHED:,} brackets of this document that match no other either; "
                "expected coreference as in CoNLL-2012, GUM or CorefUD; give another file"
            )
        new_bracket = Unmatched(document=self._document, origin=origin, fault=fault, remedy=remedy)
        self._found.append((at, new_bracket))
