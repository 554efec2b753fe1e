"""The head word of a mention and its type: pronoun, proper or nominal."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from headscope.corpora.annotation import AnnotatedDocument, Mention, Sentence
from headscope.heads import english_words as english

# universal and Penn tags; a determiner that heads a mention stands for a noun
_PRONOUN_TAGS = frozenset(("PRON", "DET", "PRP", "PRP$", "WP", "WP$", "EX", "DT", "WDT", "PDT"))
_PROPER_TAGS = frozenset(("PROPN", "NNP", "NNPS"))
_NO_TAGS = frozenset(("", "_", "-", "X", "XX"))
_QUOTES = frozenset(('"', "``", "“", "‘", "`", "«", "„"))
_NEVER_NOUN = english.PREPOSITIONS | english.FUNCTION_WORDS
_NO_NOUN = _NEVER_NOUN | english.ARTICLES | english.POSSESSIVES | english.QUANTITIES | english.ADJECTIVES
_STOPS = english.COMMAS | english.PREPOSITIONS | english.RELATIVES
_PHRASES = frozenset(("nsubj", "obj", "obl", "nmod"))
_LEADING = frozenset(("case", "punct", "cc", "mark"))
_MINOR = _LEADING | {"det"}


def head_word(document: AnnotatedDocument, mention: Mention) -> int:
    """Return the position in the document, from 0, of a mention's head word.

    With a tree it is the word of the span whose head lies outside it. Where there are several (the span is no
    subtree), it is the one nearest the root, then the leftmost; punctuation, determiners, prepositions and
    conjunctions only where there is no other.
    Without a tree it is found by `rule_head`. A mention that runs into the next sentence is judged by its words
    in the sentence in which it begins.
    """
    sentence, offset = _sentence_of(document, mention.start)
    first, last = mention.start - offset, min(mention.end - offset, len(sentence))
    if sentence.heads:
        return offset + _tree_head(sentence, first, last)
    return mention.start + rule_head(sentence.words[first:last])


def mention_type(
    document: AnnotatedDocument, mention: Mention, head: int
) -> Literal["pronoun", "proper", "nominal"]:
    """Return what kind of word heads a mention; `head` is its position in the document (`head_word`).

    By the tag where there is one: a pronoun or determiner, a proper noun, anything else. Without tags: a word of
    a closed list is a pronoun (`english_words.PRONOUNS`; `US` is none where other words are not in capitals); a
    capitalised word is proper, unless it may be so only because it begins a sentence or quotation or stands
    in a line of capitals: then it must come capitalised elsewhere in the document, where neither holds.
    """
    sentence, offset = _sentence_of(document, mention.start)
    if head >= offset + len(sentence):
        sentence, offset = _sentence_of(document, head)
    at = head - offset
    tag = sentence.tags[at] if sentence.tags else ""
    if tag not in _NO_TAGS:
        return "pronoun" if tag in _PRONOUN_TAGS else "proper" if tag in _PROPER_TAGS else "nominal"
    word = sentence.words[at]
    if word.lower() in english.PRONOUNS and (word != "US" or _in_capitals(sentence)):
        return "pronoun"
    if not word[:1].isupper():
        return "nominal"
    if _tells_case(sentence, at):
        return "proper"
    elsewhere = (
        _tells_case(other, place)
        for other in document.sentences
        for place, form in enumerate(other.words)
        if form[:1].isupper() and form.lower() == word.lower()
    )
    return "proper" if any(elsewhere) else "nominal"


def rule_head(words: Sequence[str]) -> int:
    """Return the position, from 0, of the head of an English phrase, from its words alone.

    The last word before the first comma (or bracket, dash, colon), preposition, relative pronoun or participle
    that follows the first noun-like word; where there is none, the last word. A subject pronoun counts as the
    relative pronoun that is left out before it (`the man I saw`). Punctuation and a last `'s` are no words.
    Noun-like is what is in none of the lists of `english_words` and does not end like an adjective or a
    participle; also a number, quantity, pronoun or adjective that `of` or a relative pronoun follows (`one of
    the men`, `those who left`). A form in -ing ends the phrase only where another word follows it.

    Args:
        words: the phrase, at least one word.
    """
    places = [at for at, word in enumerate(words) if any(map(str.isalnum, word))]
    while len(places) > 1 and words[places[-1]].lower() in english.CLITICS:
        places.pop()
    if not places:
        return len(words) - 1
    head, noun = places[0], False
    for at in range(places[0], places[-1] + 1):
        word, lower = words[at], words[at].lower()
        following = words[at + 1].lower() if at < places[-1] else ""
        left_out = lower in english.SUBJECTS and words[at - 1].lower() not in english.CONJUNCTIONS
        if noun and (lower in _STOPS or left_out or _is_participle(word, following)):
            return head
        if at in places and lower not in english.CLITICS and lower not in english.CONJUNCTIONS:
            head = at
            noun = noun or _is_noun_like(word, following)
    return places[-1]


def rule_agreement(documents: Iterable[AnnotatedDocument]) -> tuple[int, float]:
    """Return how often `rule_head` finds the head that the tree gives, over the noun phrases of a UD treebank.

    A phrase is a noun (NOUN, PROPN) that is nsubj, obj, obl or nmod, sub-typed or not, with all that depends on
    it, without the prepositions, conjunctions and punctuation that it begins with; one whose words do not
    stand together is left out, and so is a single word, of which the rule is always right.

    Returns:
        The number of phrases, and the share of them on which the two agree: NaN where there are none.
    """
    hits = [
        rule_head(sentence.words[first:last]) == noun - first
        for document in documents
        for sentence in document.sentences
        if sentence.heads and sentence.tags
        for first, last, noun in _noun_phrases(sentence)
    ]
    return len(hits), sum(hits) / len(hits) if hits else math.nan


def _noun_phrases(sentence: Sentence) -> Iterator[tuple[int, int, int]]:
    """Yield (first word, word after the last, noun) of the noun phrases of two words or more."""
    below: list[list[int]] = [[] for _ in sentence.words]  # each word and all that depends on it
    for at in range(len(sentence)):
        for above in _upwards(sentence, at):
            below[above].append(at)
    for noun, (tag, relation) in enumerate(zip(sentence.tags, sentence.relations)):
        if tag not in ("NOUN", "PROPN") or relation.partition(":")[0] not in _PHRASES:
            continue
        first, last = below[noun][0], below[noun][-1] + 1
        whole = last - first == len(below[noun])
        while first < noun and _leads(sentence, first, noun):
            first += 1
        if whole and last - first > 1:
            yield first, last, noun


def _leads(sentence: Sentence, at: int, noun: int) -> bool:
    """Say whether a word is no part of the phrase that it begins: a preposition, or a part of one (`out of`)."""
    while sentence.relations[at] == "fixed" and sentence.heads[at] - 1 != noun:
        at = sentence.heads[at] - 1
    return sentence.relations[at].partition(":")[0] in _LEADING


def _tree_head(sentence: Sentence, first: int, last: int) -> int:
    tops = [at for at in range(first, last) if not first < sentence.heads[at] <= last]
    tops = [at for at in tops if sentence.relations[at].partition(":")[0] not in _MINOR] or tops
    return min(tops, key=lambda at: (len(_upwards(sentence, at)), at))


def _upwards(sentence: Sentence, at: int) -> list[int]:
    """Return the positions, from 0, from a word up to its root, itself first."""
    path = [at]
    while sentence.heads[path[-1]] and len(path) <= len(sentence):
        path.append(sentence.heads[path[-1]] - 1)
    return path


def _sentence_of(document: AnnotatedDocument, position: int) -> tuple[Sentence, int]:
    """Return the sentence in which a word of the document stands, and the position of its first word."""
    offset = 0
    for sentence in document.sentences:
        size = len(sentence.words)
        if position < offset + size:
            return sentence, offset
        offset += size
    raise IndexError(f"position {position} lies behind the document's last word")


def _is_noun_like(word: str, following: str) -> bool:
    lower = word.lower()
    describes = word.endswith(english.ADJECTIVE_ENDINGS) and lower not in english.NOUNS_LIKE_ADJECTIVES
    if following == "of" or following in english.RELATIVES:
        return lower not in _NEVER_NOUN and not (describes and lower.endswith("ly"))
    if not word[0].isalpha() or lower in _NO_NOUN or _is_participle(word, following or word):
        return False
    return not (describes and word.islower())


def _is_participle(word: str, following: str) -> bool:
    """Say whether a word looks like a participle; a name (`Fred`, `Browning`) does not."""
    if not word[:1].islower() or word in english.NOT_PARTICIPLES:
        return False
    ends = (word.endswith("ed") and len(word) > 4) or (word.endswith("ing") and len(word) > 5 and following)
    return bool(ends) or word in english.PARTICIPLES


def _tells_case(sentence: Sentence, at: int) -> bool:
    """Say whether a capital at this place means a name: not after a quotation mark or as the first word."""
    before = sentence.words[:at]
    begun = any(any(map(str.isalnum, word)) for word in before)
    return begun and before[-1] not in _QUOTES and not _in_capitals(sentence)


def _in_capitals(sentence: Sentence) -> bool:
    return not any(any(map(str.islower, word)) for word in sentence.words)
