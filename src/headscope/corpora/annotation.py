"""Documents with gold structure: dependency trees, mentions of entities, or both."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpora.document import document_id


@dataclass(frozen=True, kw_only=True)
class AnnotatedSentence:
    """A sentence as words, with its tree and its tags where the corpus has them.

    Attributes:
        words: the syntactic words (`au` is `à` `le`).
        heads: position of each word's head, from 1; 0 for the root. Empty where there is no tree.
        relations: each word's relation to its head, as it stands (`nsubj:pass`). Empty where there is no tree.
        tags: each word's part of speech, universal (`NOUN`) or Penn (`NN`). Empty where there are none.
        text: the sentence as it was written; empty where the corpus does not say.
        spaces: whether white space follows each word, as it was written; empty: after each, or nobody says.
        written: the form that is written for each word, where words share one: `au` for `à`, and nothing for `le`;
            empty where each word is written itself.
        origin: where it stands, for messages: `dev.conllu, line 12`.
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
    """A stretch of words that names an entity.

    Attributes:
        start: its first word, counted from 0 through the whole document.
        end: the word after its last.
        entity: whose mention it is; equal for all mentions of one entity of a document.
    """

    start: int
    end: int
    entity: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmatched:
    """A bracket of a mention whose other half is missing: the mention that it stands for is left out.

    Attributes:
        document: what the corpus calls the document, printable; empty where it has no name.
        origin: where it stands: `dev.conllu, line 12`.
        fault: what is wrong, with the bracket as it is written.
        remedy: what to do about it.
    """

    document: str
    origin: str
    fault: str
    remedy: str

    def __str__(self) -> str:
        """Name it for people: where it stands without the file's folder, and what is wrong."""
        origin = Path(self.origin).name
        return f"{origin} (document {self.document}): {self.fault}" if self.document else f"{origin}: {self.fault}"


@dataclass(frozen=True, kw_only=True)
class AnnotatedDocument:
    """A document of sentences; the unit of resampling.

    Attributes:
        sentences: in order.
        mentions: sorted by start, longer first; empty where the corpus has no coreference.
        unmatched: the brackets of mentions that match no other, in order; their mentions are not among `mentions`.
        origin: where it begins, for messages.
        file: which of a treebank's files it stands in, from 0, and that file's name; no part of what the document is.
        id: hash of its content (`document.document_id`) where none is given; equal documents are numbered.
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
        """Return the bytes that it is known by: all that may be read or said of it, but where it stands."""
        sentences = [
            (each.words, each.heads, each.relations, each.tags, each.spaces, each.text, *filter(None, [each.written]))
            for each in self.sentences
        ]
        mentions = [(mention.start, mention.end, mention.entity) for mention in self.mentions]
        faults = [each.fault for each in self.unmatched]
        return json.dumps([sentences, mentions, faults], separators=(",", ":")).encode()

    def text(self) -> Iterable[str]:
        """Return what the model reads of it, in pieces."""
        return self.words

    @property
    def words(self) -> tuple[str, ...]:
        """All its words."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @property
    def forms(self) -> tuple[str, ...]:
        """The form that the model reads for each word, as its sentence has them."""
        return tuple(form for sentence in self.sentences for form in sentence.forms)

    @property
    def spaces(self) -> tuple[bool, ...]:
        """Whether white space follows each word; empty where none of its sentences says so."""
        if not any(sentence.spaces for sentence in self.sentences):
            return ()
        return tuple(space for sentence in self.sentences for space in sentence.spaces or (True,) * len(sentence))

    def starts(self) -> Iterator[int]:
        """Yield the position of each sentence's first word in the document, from 0."""
        at = 0
        for sentence in self.sentences:
            yield at
            at += len(sentence)
