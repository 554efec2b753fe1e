"""Documents with gold structure: dependency trees, mentions of entities, or both."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpora.document import document_id


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
