"""What the sentences on heads say, and whether words that a reader types are among it, as the page's search has it."""

import re

LEAST_POINTS = 10
"""A group of fewer points is found by no word: it tells no head from another."""
_GROUP = re.compile(r"(.*?) \((-?\d+)\)")
_WORD = re.compile(r"[\w:'’#]+(?:-[^\W\d_]+)*")


def groups_said(sentence: str) -> list[tuple[str, int]]:
    """Return the groups that a sentence names, each with its points.

    Args:
        sentence: of `explanation_sentence`: `95% explained: attends to [CLS] (61) and avoids digits (12)`.
    """
    said = sentence.partition(": ")[2]
    return [(re.sub(r"^(?:, | and )", "", text), int(points)) for text, points in _GROUP.findall(said)]


def says(sentence: str, words: str) -> bool:
    """Return whether a sentence says each of some words, in whatever number, in groups of ten points and more."""
    phrases = [_singulars(text) for text, points in groups_said(sentence) if points >= LEAST_POINTS]
    known = {word for phrase in phrases for word in phrase}
    return bool(words.strip()) and all(word in known for word in _singulars(words))


def _singulars(text: str) -> list[str]:
    return [_singular(word) for word in _WORD.findall(text.lower())]


def _singular(word: str) -> str:
    """Return a word's plural as its singular, by its ending."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and re.search(r"(?:ss|x|ch|sh)es$", word):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        return word[:-1]
    return word
