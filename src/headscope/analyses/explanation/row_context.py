"""The context of some rows of one input without the model: tokens, words, and annotation where there is any."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import Delimiter
from headscope.analyses.coref.mentions import FIELD, Mentions
from headscope.analyses.explanation.row_block import Doubles, Flags, Integers
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.corpora.trees.tree import universal_tag
from headscope.encoding.sentence_packing import arcs_of_fields, tags_of_fields
from headscope.encoding.vocabulary import KeyClass

_ENDS = (".", "!", "?", "…", "。")
_OF_TREES = ("heads", "relns", "tags")
_OF_MENTIONS = ("starts", "ends", "heads", "entities")
CLAUSES = ("root", "csubj", "ccomp", "xcomp", "advcl", "acl", "parataxis", "rcmod", "pcomp", "partmod")
"""Relations of words that head a clause of their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Annotation:
    """The annotation of an input's words; a field is None where the corpus lacks it.

    Attributes:
        tags: universal part of speech, empty where it is not known, `[word]`.
        heads: index of the word's head, -1 for the root and for heads outside the input, `[word]`.
        relations: relation to the head, without its sub-type, `[word]`.
        entities: number of the entity of the shortest mention that the word is in, -1 for none, `[word]`.
        heads_mention: True for the head word of a mention, `[word]`.
    """

    tags: tuple[str, ...] | None = None
    heads: Integers | None = None
    relations: tuple[str, ...] | None = None
    entities: Integers | None = None
    heads_mention: Flags | None = None

    @cached_property
    def clauses(self) -> Integers:
        """The head word of each word's clause, `[word]`; -1 where there is no tree, or where its arcs form a cycle."""
        if self.heads is None or self.relations is None:
            return np.zeros(0, dtype=np.int64)
        clauses = np.full(len(self.heads), -1)
        for word in range(len(clauses)):
            at = word
            for _ in range(len(clauses)):
                if at < 0 or self.relations[at] in CLAUSES:
                    break
                at = int(self.heads[at])
            clauses[word] = at
        return clauses


def kept_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotation fields of an input in a form that JSON can hold.

    Args:
        fields: fields of the input, as the packers of treebanks and coreference corpora store them.
    """
    kept: dict[str, Any] = {name: list(fields[name]) for name in _OF_TREES if name in fields}
    if isinstance(mentions := fields.get(FIELD), Mentions):
        kept[FIELD] = {name: getattr(mentions, name).tolist() for name in _OF_MENTIONS}
    return kept


def annotation_of(fields: Mapping[str, Any], words: int, *, origin: str) -> Annotation:
    """Read the annotation from the kept fields of an input.

    Args:
        fields: fields returned by `kept_fields`.
        words: number of words.
        origin: name of the input in error messages.

    Raises:
        InputError: the number of annotations differs from the number of words.
    """
    tags = tags_of_fields(fields, words, origin)
    heads = relations = entities = heads_mention = None
    if "heads" in fields:
        governors, labels = arcs_of_fields(fields, words, origin)
        heads = np.array(governors, dtype=np.int64) - 1
        heads[heads >= words] = -1
        relations = tuple(label.partition(":")[0] for label in labels)
    if FIELD in fields:
        starts, ends, mention_heads, numbers = (np.array(fields[FIELD][name], dtype=np.int64) for name in _OF_MENTIONS)
        entities, heads_mention = np.full(words, -1, dtype=np.int64), np.zeros(words, dtype=bool)
        # Shorter mentions overwrite longer ones.
        for mention in np.argsort(starts - ends, kind="stable"):
            entities[starts[mention] : ends[mention]] = numbers[mention]
        heads_mention[mention_heads[mention_heads < words]] = True
    of_words = tuple(map(universal_tag, tags)) if tags else None
    return Annotation(tags=of_words, heads=heads, relations=relations, entities=entities, heads_mention=heads_mention)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """The tokens of one axis of an input, without padding.

    Attributes:
        ids: token ids, `[token]`.
        classes: `KeyClass` of each token, `[token]`.
        word_ids: index of each token's word, -1 for special tokens, `[token]`.
    """

    ids: Integers
    classes: Integers
    word_ids: Integers

    def __len__(self) -> int:
        return len(self.ids)

    def are(self, *classes: KeyClass) -> Flags:
        """Return a mask of the tokens that belong to one of the classes, `[token]`."""
        # np.isin takes twenty times as long on the few tokens of an input, and every feature calls this method.
        return np.asarray(np.logical_or.reduce([self.classes == each for each in classes]))

    @cached_property
    def starts_word(self) -> Flags:
        """A mask of the first token of each word, `[token]`."""
        return np.asarray((self.word_ids >= 0) & (np.diff(self.word_ids, prepend=-2) != 0))

    @cached_property
    def ends_word(self) -> Flags:
        """A mask of the last token of each word, `[token]`."""
        return np.asarray((self.word_ids >= 0) & (np.diff(self.word_ids, append=-2) != 0))

    @cached_property
    def in_word(self) -> Integers:
        """The index of each token within its word, 0 for special tokens, `[token]`."""
        at = np.arange(len(self))
        first = np.maximum.accumulate(np.where(self.starts_word | (self.word_ids < 0), at, 0))
        return np.asarray(at - first)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowContext:
    """Some rows of one input.

    Attributes:
        rows: positions of the rows among the queries, from 0, `[row]`.
        visible: mask of the keys that each row sees, `[row, key]`.
        queries, keys: tokens of both axes; the same object in self-attention.
        vocabulary: facts on each token id.
        annotation: annotation of the input's words.
        same_ids: True if equal ids are equal tokens, which is not so in word-level maps.
    """

    rows: Integers
    visible: Flags
    queries: Tokens
    keys: Tokens
    vocabulary: VocabularyFacts
    annotation: Annotation = field(default_factory=Annotation)
    same_ids: bool = True

    @cached_property
    def has(self) -> frozenset[str]:
        """The requirements of features that this input fulfills."""
        of = self.annotation
        facts = {"tags": of.tags, "trees": of.heads, "mentions": of.entities}
        known = {name for name, fact in facts.items() if fact is not None}
        return frozenset(known | {"same_axis"} if self.queries is self.keys else known)

    @cached_property
    def offset(self) -> Integers:
        """Position of the key minus position of the row: -1 is the previous token, `[row, key]`."""
        return np.asarray(np.arange(len(self.keys))[None, :] - self.rows[:, None])

    @cached_property
    def words_away(self) -> Integers:
        """Number of words from the row to the key, 2**30 for special tokens, `[row, key]`."""
        of_keys, of_rows = self.keys.word_ids[None, :], self.queries.word_ids[self.rows, None]
        return np.asarray(np.where((of_keys < 0) | (of_rows < 0), 1 << 30, of_keys - of_rows))

    @cached_property
    def key_texts(self) -> NDArray[np.str_]:
        """The text of each key: the characters that it completes; empty for special tokens, `[key]`."""
        return np.array(self.texts_of(self.keys), dtype=str)

    def texts_of(self, tokens: Tokens) -> list[str]:
        """Return the text of each token: the characters that it completes; empty for special tokens."""
        return self.vocabulary.texts_of(tokens.ids.tolist())

    @cached_property
    def sentences(self) -> Integers:
        """Number of the sentence of each key: a sentence-final mark, a line break or a separator ends it, `[key]`."""
        delimiters = self.vocabulary.of(self.vocabulary.delimiters, self.keys.ids)
        ends = np.isin(self.key_texts, _ENDS) | (delimiters == Delimiter.NEWLINE)
        ends |= self.keys.classes == KeyClass.SEP
        return np.asarray(np.cumsum(ends) - ends, dtype=np.int64)

    @cached_property
    def words(self) -> dict[int, str]:
        """The text of each word, its pieces joined, in lower case."""
        words: dict[int, str] = {}
        for word, text in zip(self.keys.word_ids.tolist(), self.key_texts.tolist(), strict=True):
            if word >= 0:
                words[word] = words.get(word, "") + text.lower()
        return words

    @cached_property
    def word_numbers(self) -> Integers:
        """Number of each key's word; equal words share it, -1 for special tokens and punctuation, `[key]`."""
        texts = {word: text for word, text in self.words.items() if any(map(str.isalnum, text))}
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts.values()))}
        of_keys = [numbers.get(texts.get(word, ""), -1) for word in self.keys.word_ids.tolist()]
        return np.array(of_keys, dtype=np.int64)

    def of_text(self, values: NDArray[Any]) -> Doubles:
        """Return the values of the keys, `[key]`; special tokens, which have groups of their own, get the mean."""
        special = self.keys.are(KeyClass.CLS, KeyClass.SEP)
        numbers = np.asarray(values, dtype=np.float64)
        mean = numbers[~special].mean() if (~special).any() else 0.0
        return np.where(special, mean, numbers)

    def of_words(self, values: NDArray[Any]) -> NDArray[Any]:
        """Take the value of each key's word, 0 where a key has no word, `[key]`."""
        return np.append(values, np.zeros(1, dtype=values.dtype))[self.keys.word_ids]

    def of_rows(self, values: NDArray[np.generic]) -> Doubles:
        """Take the values of the queries at the rows, `[row, 1]`."""
        return values.astype(np.float64)[self.rows, None]
