"""Pack sentences of a treebank into model inputs, one sentence each, with their trees in the fields of segments."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from random import Random
from typing import Any

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.encoding.encoder import LETTERS_A_TOKEN, Encoder
from headscope.encoding.segment import Segment, shared_words
from headscope.encoding.tokenizer.alignment import Alignment, WordCounts
from headscope.encoding.tokenizer.pieces import Pieces
from headscope.errors import InputError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which no table can hold


def arcs_of_fields(fields: Mapping[str, Any], words: int, origin: str) -> tuple[list[int], list[str]]:
    """Return heads and relations from a segment's fields, in the form of treebanks and the original's JSON.

    Raises:
        InputError: there are none, not one per word, or they are not whole numbers and names.
    """
    heads, relations = fields.get("heads"), fields.get("relns")
    if heads is None or relations is None:
        raise InputError(
            f"{origin} has no tree: expected the fields heads and relns beside its words; give a treebank, or maps "
            "that were extracted from one"
        )
    if not _whole_numbers(heads) or not _names(relations):
        raise InputError(
            f"{origin}: expected heads as a list of whole numbers, and relns as a list of names; give a treebank, or "
            "maps that were extracted from one"
        )
    if not len(heads) == len(relations) >= words:
        raise InputError(
            f"{origin}: expected a head and a relation for each of its {words} words, found {len(heads)} heads and "
            f"{len(relations)} relations"
        )
    return list(heads[:words]), list(relations[:words])


def tags_of_fields(fields: Mapping[str, Any], words: int, origin: str) -> list[str]:
    """Return the parts of speech from a segment's fields; empty if there are none.

    Raises:
        InputError: there is not one per word, or they are not names.
    """
    tags = fields.get("tags")
    if tags is None:
        return []
    if not _names(tags) or len(tags) < words:
        came = f"{len(tags)}" if _names(tags) else "something else"
        raise InputError(
            f"{origin}: expected tags as a list of names, one for each of its {words} words, found {came}; give a "
            "treebank, or maps that were extracted from one"
        )
    return list(tags[:words])


def _whole_numbers(values: Any) -> bool:
    """Return True for numbers of words: -1 or 0 for the root, and none that is too large for an array."""
    return isinstance(values, list | tuple) and all(
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31 for value in values
    )


def _names(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(
        isinstance(value, str) and (value.isascii() or not _LONE_SURROGATE.search(value)) for value in values
    )


@dataclass(kw_only=True)
class SentenceCounts(WordCounts):
    """Counts of a treebank; filled while `pack` runs and written to the manifest.

    Attributes:
        documents: documents read.
        sentences: sentences that became inputs.
        skipped: sentences left out, by reason.
    """

    documents: int = 0
    sentences: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(eq=False)
class SentencePacker:
    """Turn each sentence into a segment whose fields hold `heads` and `relns`, as in the original's JSON.

    Args:
        encoder: wrapper of the tokenizer.
        max_length: maximum number of tokens in a segment; longer sentences are left out and counted, because a cut tree
            is not a tree.
        shuffle: whether the words are in random order, each with its own arc (a control).
        seed: seed of the random order.

    Attributes:
        counts: counts of the treebank so far.
    """

    encoder: Encoder
    _: KW_ONLY
    max_length: int
    shuffle: bool = False
    seed: int = 0
    counts: SentenceCounts = field(default_factory=SentenceCounts, init=False)

    def pack(self, documents: Iterable[AnnotatedDocument], *, max_inputs: int | None = None) -> Iterator[Segment]:
        """Yield segments in the order of the corpus, at most `max_inputs` of them."""
        for document in documents:
            if max_inputs is not None and self.counts.sentences >= max_inputs:
                return
            self.counts.documents += 1
            for index, sentence in enumerate(document.sentences):
                if max_inputs is not None and self.counts.sentences >= max_inputs:
                    return
                if not sentence.words:
                    continue
                if self.shuffle:
                    sentence = shuffled(sentence, Random(f"{self.seed} {document.id} {index}"))
                segment = self._segment(sentence, document.id, index)
                if segment is not None:
                    yield segment

    def _segment(self, sentence: AnnotatedSentence, document: str, index: int) -> Segment | None:
        cut = self._cut(sentence)
        if cut is None:
            self.counts.skipped["sentence over the limit"] += 1
            return None
        pieces, alignment = cut
        self.counts.sentences += 1
        self.counts.count_words(alignment, sentence.forms)
        return self.encoder.segment(
            pieces,
            document=document,
            index=index,
            alignment=alignment,
            words=sentence.words,
            shared=shared_words(sentence.forms),
            fields={
                "heads": list(sentence.heads),
                "relns": list(sentence.relations),
                **({"tags": list(sentence.tags)} if sentence.tags else {}),
            },
        )

    def _cut(self, sentence: AnnotatedSentence) -> tuple[Pieces, Alignment] | None:
        """Return a sentence's pieces, aligned with its words; None if they are over the limit."""
        if sum(map(len, sentence.forms)) > LETTERS_A_TOKEN * self.max_length:
            return None
        pieces, alignment = self.encoder.piece_words(sentence.forms, sentence.spaces)
        return (pieces, alignment) if len(pieces) + self.encoder.special_tokens_single <= self.max_length else None


def shuffled(sentence: AnnotatedSentence, random: Random) -> AnnotatedSentence:
    """Return a sentence with its words in a random order, each still the dependent of the same word."""
    order = list(range(len(sentence.words)))
    random.shuffle(order)
    new_positions = {old + 1: new + 1 for new, old in enumerate(order)} | {0: 0}
    return AnnotatedSentence(
        words=tuple(sentence.words[old] for old in order),
        heads=tuple(new_positions[sentence.heads[old]] for old in order),
        relations=tuple(sentence.relations[old] for old in order),
        tags=tuple(sentence.tags[old] for old in order) if sentence.tags else (),
        # Words that become neighbors are separated by spaces, unless the language does not separate words.
        spaces=sentence.spaces if not any(sentence.spaces[:-1]) else (),
        origin=sentence.origin,
    )
