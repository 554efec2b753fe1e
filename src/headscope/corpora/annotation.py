"""Documents with gold structure: dependency trees, mentions of entities, or both."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class AnnotatedSentence:
    """A sentence as words, with its tree and its tags where the corpus has them.

    Attributes:
        words: the syntactic words (`au` is `à` `le`), as the model reads them.
        heads: position of each word's head, from 1; 0 for the root. Empty where there is no tree.
        relations: each word's relation to its head, as it stands (`nsubj:pass`). Empty where there is no tree.
        tags: each word's part of speech, universal (`NOUN`) or Penn (`NN`). Empty where there are none.
        text: the sentence as it was written; empty where the corpus does not say.
        spaces: whether white space follows each word, as it was written; empty: after each, or nobody says.
        origin: where it stands, for messages: `dev.conllu, line 12`.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    text: str = ""
    spaces: tuple[bool, ...] = ()
    origin: str = ""

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
        return (
            f"{origin} (document {self.document}): {self.fault}"
            if self.document
            else f"{origin}: {self.fault}"
        )


@dataclass(frozen=True, kw_only=True)
class AnnotatedDocument:
    """A document of sentences; the unit of resampling.

    Attributes:
        id: hash of its words with its ordinal (`document.document_id`); never a file's name alone.
        sentences: in order.
        mentions: sorted by start, longer first; empty where the corpus has no coreference.
        unmatched: the brackets of mentions that match no other, in order; their mentions are not among `mentions`.
        origin: where it begins, for messages.
        file: which of a treebank's files it stands in, from 0, and that file's name; no part of what the document is.
    """

    id: str
    sentences: tuple[AnnotatedSentence, ...]
    mentions: tuple[Mention, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    origin: str = ""
    file: tuple[int, str] = field(default=(0, ""), compare=False)

    @property
    def words(self) -> tuple[str, ...]:
        """All its words."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @property
    def spaces(self) -> tuple[bool, ...]:
        """Whether white space follows each word; empty where none of its sentences says so."""
        if not any(sentence.spaces for sentence in self.sentences):
            return ()
        return tuple(
            space for sentence in self.sentences for space in sentence.spaces or (True,) * len(sentence)
        )

    def starts(self) -> Iterator[int]:
        """Yield the position of each sentence's first word in the document, from 0."""
        at = 0
        for sentence in self.sentences:
            yield at
            at += len(sentence)
