"""The head word of a mention and its type: pronoun, proper or nominal."""

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Literal

from headscope.analyses.coref.head_rule import LEADING, LISTS, rule_head
from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.trees.tree import depths

# universal and Penn tags; a determiner that heads a mention is used as a pronoun
_PRONOUN_TAGS = frozenset(("PRON", "DET", "PRP", "PRP$", "WP", "WP$", "EX", "DT", "WDT", "PDT"))
_PROPER_TAGS = frozenset(("PROPN", "NNP", "NNPS"))
_NO_TAGS = frozenset(("", "_", "-", "X", "XX"))
_QUOTES = frozenset(('"', "``", "“", "‘", "`", "«", "„"))
_FUNCTION = LEADING | {"det", "clf", "aux", "cop"}  # UD's function words, and punctuation


class MentionWords:
    """Head words and types of a document's mentions.

    Data of the whole document are computed once, because a document may have a hundred thousand mentions.

    Args:
        document: the document of the mentions.
    """

    def __init__(self, document: AnnotatedDocument) -> None:
        self.document = document
        self._ends = list(accumulate(len(sentence) for sentence in document.sentences))
        self._depths: dict[int, list[int]] = {}
        self._case: dict[int, tuple[int, bool]] = {}
        self._heads: dict[tuple[int, int], int] = {}

    def head(self, mention: Mention) -> int:
        """Return the position in the document, from 0, of a mention's head word.

        With a tree it is the word of the span whose head is outside the span. If there are several (the span is not a
        subtree), it is the one nearest the root, then the leftmost; function words (determiners, prepositions,
        conjunctions, auxiliaries, copulas, classifiers) and punctuation only if nothing else qualifies. Without a tree
        it is found by `rule_head`. For a mention that continues in the next sentence, only its words in the first
        sentence are used.
        """
        span = (mention.start, mention.end)
        if span not in self._heads:
            number, sentence, offset = self._at(mention.start)
            first, last = mention.start - offset, min(mention.end - offset, len(sentence))
            if sentence.heads:
                self._heads[span] = offset + self._tree_head(number, first, last)
            else:
                self._heads[span] = mention.start + rule_head(sentence.words[first:last])
        return self._heads[span]

    def type(self, head: int) -> Literal["pronoun", "proper", "nominal"]:
        """Return the type of the head word of a mention; `head` is its position in the document.

        By the tag if there is one: a pronoun or determiner, a proper noun, anything else. Without tags: a word of a
        closed list is a pronoun (`pronouns`; `US` only if the other words are in capitals); a
        capitalized word is proper, unless the capital may be due to the beginning of a sentence or quotation or to a
        line of capitals: then the word must be capitalized elsewhere in the document without such a reason.
        """
        number, sentence, offset = self._at(head)
        at = head - offset
        tag = sentence.tags[at] if sentence.tags else ""
        if tag not in _NO_TAGS:
            return "pronoun" if tag in _PRONOUN_TAGS else "proper" if tag in _PROPER_TAGS else "nominal"
        word = sentence.words[at]
        if word.lower() in LISTS["pronouns"] and (word != "US" or self._about(number)[1]):
            return "pronoun"
        if not word[:1].isupper():
            return "nominal"
        return "proper" if self._tells_case(number, at) or word.lower() in self._names else "nominal"

    @cached_property
    def _names(self) -> frozenset[str]:
        """The lower-cased words whose capital marks a name somewhere in the document."""
        return frozenset(
            word.lower()
            for number, sentence in enumerate(self.document.sentences)
            for at, word in enumerate(sentence.words)
            if word[:1].isupper() and self._tells_case(number, at)
        )

    def _tells_case(self, number: int, at: int) -> bool:
        """Return True if a capital at this position marks a name: not after a quotation mark or as the first word."""
        first, in_capitals = self._about(number)
        before = self.document.sentences[number].words[at - 1]
        return first < at and before not in _QUOTES and not in_capitals

    def _about(self, number: int) -> tuple[int, bool]:
        """Return the position of a sentence's first word, skipping punctuation, and True if it is all in capitals."""
        if number not in self._case:
            words = self.document.sentences[number].words
            first = next((at for at, word in enumerate(words) if any(map(str.isalnum, word))), len(words))
            self._case[number] = first, not any(any(map(str.islower, word)) for word in words)
        return self._case[number]

    def _tree_head(self, number: int, first: int, last: int) -> int:
        sentence = self.document.sentences[number]
        if number not in self._depths:
            self._depths[number] = depths(sentence.heads)
        depth = self._depths[number]
        tops = [at for at in range(first, last) if not first < sentence.heads[at] <= last]
        tops = [at for at in tops if sentence.relations[at].partition(":")[0] not in _FUNCTION] or tops
        return min(tops, key=lambda at: (depth[at], at))

    def _at(self, position: int) -> tuple[int, AnnotatedSentence, int]:
        """Return the sentence of a word: its index, the sentence, and the position of its first word."""
        number = bisect_right(self._ends, position)
        if number == len(self._ends):
            raise IndexError(f"position {position} lies behind the document's last word")
        sentence = self.document.sentences[number]
        return number, sentence, self._ends[number] - len(sentence)
