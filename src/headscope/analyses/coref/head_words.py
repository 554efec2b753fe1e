"""The head word and the type (pronoun, proper, nominal) of a mention: from trees, else by a rule for English."""

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import resources
from itertools import accumulate
from typing import Literal

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.trees.tree import depths

_FILE = resources.files("headscope").joinpath("data/english_words.json")
LISTS = {name: frozenset(words) for name, words in json.loads(_FILE.read_text(encoding="utf-8")).items()}
"""Closed lists of English words, all in lower case: function words; frequent adjectives and participles that cannot be
recognized by their ending; nouns that end like these; subject pronouns, which after a noun begin a relative clause
whose relative pronoun is left out (`the man I saw`)."""
_ENDINGS = tuple(LISTS["adjective_endings"])
_NEVER_NOUN = LISTS["prepositions"] | LISTS["function_words"]
_NO_NOUN = _NEVER_NOUN.union(*(LISTS[name] for name in ("articles", "possessives", "quantities", "adjectives")))
_STOPS = LISTS["commas"] | LISTS["prepositions"] | LISTS["relatives"]
_JOINING = LISTS["clitics"] | LISTS["conjunctions"]
_PHRASES = frozenset(("nsubj", "obj", "obl", "nmod"))
_MOST_WORDS = 200  # words of a noun phrase; in one long chain of words, each would form a phrase with all that follow
LEADING = frozenset(("case", "punct", "cc", "mark"))


def rule_head(words: Sequence[str]) -> int:
    """Return the position, from 0, of the head of an English phrase, from its words alone.

    The head is the last word before the first comma (or bracket, dash, colon), preposition, relative pronoun or
    participle that follows the first noun-like word; without one, the last word. A subject pronoun counts as the
    relative pronoun that is omitted before it (`the man I saw`). Punctuation and a final `'s` are not words. A word is
    noun-like if it is in none of the lists of `LISTS` and does not end like an adjective or a participle, or
    if it is a number, quantity, pronoun or adjective followed by `of` or a relative pronoun (`one of the men`, `those
    who left`). A form in -ing ends the phrase only if another word follows it.

    Args:
        words: words of the phrase, at least one.
    """
    word_positions = [at for at, word in enumerate(words) if any(map(str.isalnum, word))]
    while len(word_positions) > 1 and words[word_positions[-1]].lower() in LISTS["clitics"]:
        word_positions.pop()
    if not word_positions:
        return len(words) - 1
    head, noun = word_positions[0], False
    for at in range(word_positions[0], word_positions[-1] + 1):
        word, lower = words[at], words[at].lower()
        following = words[at + 1].lower() if at < word_positions[-1] else ""
        left_out = lower in LISTS["subjects"] and words[at - 1].lower() not in LISTS["conjunctions"]
        if noun and (lower in _STOPS or left_out or _is_participle(word, following)):
            return head
        if at in word_positions and lower not in _JOINING:
            head = at
            noun = noun or _is_noun_like(word, following)
    return word_positions[-1]


def rule_agreement(documents: Iterable[AnnotatedDocument]) -> tuple[int, float]:
    """Return the agreement of `rule_head` with the tree's head, over the noun phrases of a UD treebank.

    A phrase is a noun (NOUN, PROPN) that is nsubj, obj, obl or nmod, sub-typed or not, with all its descendants except
    the prepositions, conjunctions and punctuation at its beginning. Excluded are phrases whose words are not
    contiguous, single words, for which the rule is always right, and phrases of more than 200 words, which no language
    has.

    Returns:
        The number of phrases, and the share of them on which the two agree: NaN if there are none.
    """
    hits = [
        rule_head(sentence.words[first:last]) == noun - first
        for document in documents
        for sentence in document.sentences
        if sentence.heads and sentence.tags
        for first, last, noun in _noun_phrases(sentence)
    ]
    return len(hits), sum(hits) / len(hits) if hits else math.nan


def _noun_phrases(sentence: AnnotatedSentence) -> Iterator[tuple[int, int, int]]:
    """Yield (first word, word after the last, noun) of the noun phrases of two words or more."""
    # For each word with its descendants: the first word, the last word and the number of words. The words themselves
    # are not kept, because in a sentence whose words form one chain each would hold all that follow it.
    firsts, lasts, sizes = list(range(len(sentence))), list(range(len(sentence))), [1] * len(sentence)
    depth = depths(sentence.heads)
    for at in sorted(range(len(sentence)), key=depth.__getitem__, reverse=True):
        if above := sentence.heads[at]:
            firsts[above - 1] = min(firsts[above - 1], firsts[at])
            lasts[above - 1] = max(lasts[above - 1], lasts[at])
            sizes[above - 1] += sizes[at]
    for noun, (tag, relation) in enumerate(zip(sentence.tags, sentence.relations)):
        if tag not in ("NOUN", "PROPN") or relation.partition(":")[0] not in _PHRASES:
            continue
        first, last = firsts[noun], lasts[noun] + 1
        is_contiguous = last - first == sizes[noun]
        while first < noun and _leads(sentence, first, noun):
            first += 1
        if is_contiguous and 1 < last - first <= _MOST_WORDS:
            yield first, last, noun


def _leads(sentence: AnnotatedSentence, at: int, noun: int) -> bool:
    """Return True if a word precedes the phrase proper: a preposition, or a part of one (`out of`)."""
    while sentence.relations[at] == "fixed" and sentence.heads[at] - 1 != noun:
        at = sentence.heads[at] - 1
    return sentence.relations[at].partition(":")[0] in LEADING


def _is_noun_like(word: str, following: str) -> bool:
    lower = word.lower()
    describes = word.endswith(_ENDINGS) and lower not in LISTS["nouns_like_adjectives"]
    if following == "of" or following in LISTS["relatives"]:
        return lower not in _NEVER_NOUN and not (describes and lower.endswith("ly"))
    if not word[0].isalpha() or lower in _NO_NOUN or _is_participle(word, following or word):
        return False
    return not (describes and word.islower())


def _is_participle(word: str, following: str) -> bool:
    """Return True if a word looks like a participle; a name (`Fred`, `Browning`) does not."""
    if not word[:1].islower() or word in LISTS["not_participles"]:
        return False
    ends = (word.endswith("ed") and len(word) > 4) or (word.endswith("ing") and len(word) > 5 and following)
    return bool(ends) or word in LISTS["participles"]


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
            is_parsed = bool(sentence.heads)
            head = self._tree_head(number, first, last) if is_parsed else first + rule_head(sentence.words[first:last])
            self._heads[span] = offset + head
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
        if word.lower() in LISTS["pronouns"] and (word != "US" or self._case[number][1]):
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
        first, in_capitals = self._case[number]
        before = self.document.sentences[number].words[at - 1]
        return first < at and before not in _QUOTES and not in_capitals

    @cached_property
    def _case(self) -> list[tuple[int, bool]]:
        """The position of each sentence's first word, skipping punctuation, and True if it is all in capitals."""
        case = []
        for sentence in self.document.sentences:
            first = next((at for at, word in enumerate(sentence.words) if any(map(str.isalnum, word))), len(sentence))
            case.append((first, not any(any(map(str.islower, word)) for word in sentence.words)))
        return case

    @cached_property
    def _depths(self) -> list[list[int]]:
        """The depths of the words of each sentence in its tree."""
        return [depths(sentence.heads) for sentence in self.document.sentences]

    def _tree_head(self, number: int, first: int, last: int) -> int:
        sentence, depth = self.document.sentences[number], self._depths[number]
        tops = [at for at in range(first, last) if not first < sentence.heads[at] <= last]
        tops = [at for at in tops if sentence.relations[at].partition(":")[0] not in _FUNCTION] or tops
        return min(tops, key=lambda at: (depth[at], at))

    def _at(self, position: int) -> tuple[int, AnnotatedSentence, int]:
        """Return the sentence of a word: its index, the sentence, and the position of its first word."""
        number = bisect_right(self._ends, position)
        sentence = self.document.sentences[number]
        return number, sentence, self._ends[number] - len(sentence)
