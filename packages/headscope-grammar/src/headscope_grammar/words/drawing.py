"""Words drawn for one document: none twice while others are left, adjectives in the order of English."""

from collections.abc import Sequence
from random import Random

from headscope_grammar.words.lexicon import Noun, raw, words

_ORDER = (
    "small large little tall long short heavy thick fast slow",
    "hungry tired empty broken noisy quiet busy ripe fresh warm cheap expensive rusty wealthy sweet",
    "old young new modern retired experienced annual",
    "red blue green brown black white grey dark yellow",
    "wooden plastic local",
)
_RANK = {adjective: rank for rank, listed in enumerate(_ORDER, 1) for adjective in listed.split()}


class Drawn:
    """Draws words and remembers them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._taken: set[str] = set()

    def fresh(self, listed: Sequence[str]) -> str:
        """Return a word that the document has not drawn yet, if there is one."""
        left = [item for item in listed if item not in self._taken] or list(listed)
        chosen = self.rng.choice(left)
        self._taken.add(chosen)
        return chosen

    def noun(self, listed: Sequence[Noun]) -> Noun:
        """Return a noun that the document has not drawn yet, if there is one."""
        left = [noun for noun in listed if noun.lemma not in self._taken] or list(listed)
        chosen = self.rng.choice(left)
        self._taken.add(chosen.lemma)
        return chosen

    def adjectives(self, kind: str) -> tuple[str, ...]:
        """Draw adjectives that do not contradict each other, in the order of English: opinion ... material."""
        many = self.rng.choices((0, 1, 2), (0.35, 0.5, 0.15))[0]
        picked: list[str] = []
        listed = words("adjectives", kind)
        for adjective in self.rng.sample(listed, min(3, len(listed))):
            if len(picked) < many and all(_RANK.get(adjective, 0) != _RANK.get(one, 0) for one in picked):
                picked.append(adjective)
        return tuple(sorted(picked, key=lambda one: _RANK.get(one, 0)))

    def compound(self, noun: Noun) -> str:
        """Return a noun that may stand before another (`garden` of a chair), or nothing."""
        listed = raw()["compounds"].get(noun.lemma, "").split()
        return self.rng.choice(listed) if listed else ""
