"""Name groups of columns on tokens or kinds of words by the words they favor: the most typical tokens of the text."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Integers
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.features import words
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts

FEWEST, MOST = 3, 8
"""Least occurrences in the sampled inputs of a token that names a kind of word; most names of a kind."""
NAMED = frozenset({TOKENS, words.KINDS, words.AFTER, words.NEARBY, words.PAIRS, words.PAIRS_AFTER})
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class NamedWords:
    """Tokens that name a group.

    Attributes:
        words: keys, or the tokens before them.
        attending: attending tokens, for a group of pairs.
        avoided: True if the words are avoided rather than favored.
    """

    words: tuple[str, ...] = ()
    attending: tuple[str, ...] = ()
    avoided: bool = False


class WordNames:
    """Names kinds of words in a text.

    Args:
        vocabulary: vocabulary facts, with the components of the text.
        counts: number of occurrences of each id in the sampled inputs, `[id]`.
        token_ids: tokens with a column of their own.
        near: names of the position features of `words.NEARBY`.
    """

    def __init__(
        self, vocabulary: VocabularyFacts, counts: Integers, token_ids: Integers, near: tuple[str, ...] = ()
    ) -> None:
        self.vocabulary, self.token_ids, self.near = vocabulary, token_ids, near
        texts = vocabulary.texts
        ids = np.flatnonzero(counts[: len(texts)] >= FEWEST)
        self.ids = ids[[bool(texts[number].strip()) for number in ids.tolist()]] if len(ids) else ids
        self.weights = counts[self.ids] / max(1, counts[self.ids].sum())

    def of(self, group: str, coefficients: Weights, pulls: Weights) -> NamedWords:
        """Name a group by its coefficients; see `words` for their order.

        Args:
            group: name of the group, one of `NAMED`.
            coefficients: coefficients of its columns, `[column]`.
            pulls: pull of each column on attention, `[column]`.
        """
        if group == TOKENS:
            signed = np.copysign(np.maximum(pulls, 0.0), coefficients)
            avoided = bool(signed.sum() < 0)
            order = np.argsort(signed if avoided else -signed, kind="stable")[:MOST]
            chosen = [number for number in order.tolist() if (signed[number] < 0) == avoided and signed[number]]
            return NamedWords(tuple(self._text(int(self.token_ids[number])) for number in chosen), avoided=avoided)
        if self.vocabulary.components is None or not len(self.ids):
            return NamedWords()
        if group in (words.KINDS, words.AFTER):
            scores = self._scores(coefficients)
            avoided = self._skew(scores) < 0
            return NamedWords(self._typical(-scores if avoided else scores), avoided=avoided)
        if group == words.NEARBY:
            return self._nearby(coefficients.reshape(words.NEAR, -1))
        size = words.PAIRED if group == words.PAIRS else words.PAIRED_AFTER
        left, _, right = np.linalg.svd(coefficients.reshape(size, size))
        of_queries, of_keys = self._scores(left[:, 0]), self._scores(right[0])
        # The signs are arbitrary, since the opposite kinds attend to each other as well: the narrower kinds are named.
        sign = -1.0 if self._skew(of_queries) + self._skew(of_keys) < 0 else 1.0
        return NamedWords(self._typical(sign * of_keys), attending=self._typical(sign * of_queries))

    def _nearby(self, coefficients: Weights) -> NamedWords:
        """Name the kind of word that is favored more the nearer it is."""
        left, _, right = np.linalg.svd(coefficients, full_matrices=False)
        nearness = sum(
            weight * (-1.0 if name.startswith("log_distance") else 1.0) for name, weight in zip(self.near, right[0])
        )
        scores = self._scores(left[:, 0]) * (-1.0 if nearness < 0 else 1.0)
        return NamedWords(self._typical(scores))

    def _scores(self, direction: Weights) -> Weights:
        """Project each token of the text on a direction of the components, `[token]`."""
        return np.asarray(self.vocabulary.kinds(self.ids)[:, : len(direction)] @ direction)

    def _skew(self, scores: Weights) -> float:
        """Compute the skewness over the tokens of the text; above 0 if few tokens lie far out on the high side."""
        centered = scores - self.weights @ scores
        scale = float(np.sqrt(self.weights @ centered**2))
        return float(self.weights @ centered**3) / scale**3 if scale > 0 else 0.0

    def _typical(self, scores: Weights) -> tuple[str, ...]:
        """Return the tokens with high scores, frequent ones first."""
        order = np.argsort(-scores * np.log1p(self.weights / self.weights.min()), kind="stable")
        chosen = [self._text(int(self.ids[number])) for number in order[:MOST].tolist() if scores[number] > 0]
        return tuple(dict.fromkeys(chosen))

    def _text(self, token: int) -> str:
        texts = self.vocabulary.texts
        return texts[token] if token < len(texts) else f"⟨{token}⟩"
