"""Search the sentences on heads for words that a reader types, by the same rules as the page's search."""

import re

LEAST_PERCENT = 10
"""Least percent of a group that the search finds: smaller groups do not distinguish heads."""
_GROUP = re.compile(r"(.*?) \((-?\d+(?:\.\d+)?)%\)")
_WORD = re.compile(r"[\w:'’#]+(?:-[^\W\d_]+)*")


def groups_said(sentence: str) -> list[tuple[str, float]]:
    """Return the groups that a sentence names, each with its percent.

    Args:
        sentence: result of `explanation_sentence`: `Attends to [CLS] (61%) and avoids digits (12%); 95% predicted`.
    """
    return [(re.sub(r"^(?:, | and )", "", text), float(share)) for text, share in _GROUP.findall(sentence)]


def says(sentence: str, words: str) -> bool:
    """Return True if a sentence contains each of the words, singular or plural, in groups of at least 10%."""
    phrases = [_singulars(text) for text, share in groups_said(sentence) if share >= LEAST_PERCENT]
    known = {word for phrase in phrases for word in phrase}
    return bool(words.strip()) and all(word in known for word in _singulars(words))


def _singulars(text: str) -> list[str]:
    return [_singular(word) for word in _WORD.findall(text.lower())]


def _singular(word: str) -> str:
    """Return the singular of a plural, recognized by its ending."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and re.search(r"(?:ss|x|ch|sh)es$", word):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        return word[:-1]
    return word
