"""The sentence that explains a head: the groups of features that predict its attention, with the share of each.

Groups of columns on tokens or kinds of words are named by the words they favor: the most typical tokens of the text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headscope.analyses.explanation import words
from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.features import ATTENDING, TOKENS
from headscope.analyses.explanation.row_block import Doubles, Integers
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.present.numbers import percent
from headscope.present.words import capital, either, join
from headscope.statistics.statistic import Special

FEWEST, MOST = 3, 8
"""Least occurrences in the sampled inputs of a token that names a kind of word; most names of a kind."""
NAMED = frozenset({TOKENS, words.KINDS, words.AFTER, words.NEARBY, words.PAIRS, words.PAIRS_AFTER})
MOST_GROUPS = 4
"""Most groups in the sentence, which names the groups with the largest shares; the table has all."""
MOST_WORDS = 4
LEAST_PULL, MOST_OF_PULL = 0.3, 0.6
"""Least share of its group's pull for a feature to be named in place of the group; least share of a single feature."""
LEAST_OTHERS = 0.01


@dataclass(frozen=True, kw_only=True)
class Part:
    """A group of an explanation.

    Attributes:
        group: name of the group.
        share: gain of the group in the explained share, which may be negative.
        coefficients: coefficients of its features, by name.
        pulls: pull of each feature on attention: its coefficient times the difference between its mean under the
            attention and its mean under uniform attention. To first order their sum is the gain of the group.
        words: tokens that are favored most, or that name the favored kind of word, as they are written.
        attending: the same for the attending tokens, for a group of pairs.
        avoided: True if the words are avoided.
        alternatives: names of groups that predict equally well.
    """

    group: str
    share: float
    coefficients: Mapping[str, float] = field(default_factory=dict)
    pulls: Mapping[str, float] = field(default_factory=dict)
    words: Sequence[str] = ()
    attending: Sequence[str] = ()
    avoided: bool = False
    alternatives: Sequence[str] = ()


def explanation_sentence(
    explained: float | None, parts: Sequence[Part], *, special: Special | None = None, catalog: Catalog = CATALOG
) -> str:
    """Return `Attends to [CLS] (61%) and the previous token (22%), avoids digits (12%); others 1%; 96% predicted`.

    Args:
        explained: explained share; None if it was not measured, and the sentence then has no shares.
        parts: parts of the explanation, in any order; the sentence keeps their order if nothing was measured.
        special: names of the special tokens.
        catalog: features and groups.
    """
    special = Special() if special is None else special
    if explained is None:
        named = parts[:MOST_GROUPS]
    else:
        named = [part for part in _merged(parts) if part.share >= LEAST_OTHERS][:MOST_GROUPS]
        if not named:
            nothing = "No simple rule predicts a percent of its attention; all features together predict"
            return f"{nothing} {percent(explained)}"
    clauses: dict[str, list[str]] = {"attends to": [], "avoids": [], "varies with": []}
    for part in named:
        varies = part.group == ATTENDING
        verb = "varies with" if varies else "avoids" if is_avoided(part, catalog) else "attends to"
        phrase = "the attending token" if varies else _phrase(part, special, catalog)
        clauses[verb].append(phrase if explained is None else f"{phrase} ({percent(part.share)})")
    said = capital(join([f"{verb} {join(phrases)}" for verb, phrases in clauses.items() if phrases]))
    if explained is None:
        return f"{said}; not tested on other documents"
    others = explained - sum(part.share for part in named)
    rest = f"; others {percent(others)}" if others >= LEAST_OTHERS else ""
    return f"{said}{rest}; {percent(explained)} predicted"


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Return the parts from the largest to the smallest; two interchangeable parts become one with their sum."""
    merged: list[Part] = []
    for part in sorted(parts, key=lambda part: -part.share):
        twins = (at for at, other in enumerate(merged)
                 if part.group in other.alternatives and other.group in part.alternatives)  # fmt: skip
        if (twin := next(twins, None)) is None:
            merged.append(part)
        else:
            merged[twin] = replace(merged[twin], share=merged[twin].share + part.share)
    return sorted(merged, key=lambda part: -part.share)


def is_avoided(part: Part, catalog: Catalog = CATALOG) -> bool:
    """Return True if a group is avoided: its strongest feature is, and has no phrase for its opposite."""
    if part.words:
        return part.avoided
    strongest = _strongest(part, most=1)
    return bool(strongest) and _keeps_away(part, strongest[0], catalog)


def phrase_of(part: Part, catalog: Catalog = CATALOG) -> str:
    """Return a phrase for the keys of a group: its strongest features if one or two of them account for it.

    For a group that is avoided these are the keys that are avoided.

    Args:
        part: part of the explanation.
        catalog: features and groups.
    """
    group, avoided = catalog.groups[part.group], is_avoided(part, catalog)
    if part.words:
        return _in_words(part, group.phrase)
    # Features that attract attention are not listed together with features that are avoided.
    strongest = _strongest(part, most=max(1, group.named_features))
    alike = [name for name in strongest if _keeps_away(part, name, catalog) == avoided]
    opposite = {name: catalog.features[name].opposite for name in alike if part.coefficients[name] < 0}
    phrases = [opposite.get(name) or catalog.features[name].sentence for name in alike]
    enough = group.named_features > 1 or (phrases and _share_of_pull(part, alike[0]) >= MOST_OF_PULL)
    if group.named_features and phrases and enough:
        return join(list(dict.fromkeys(phrases)))
    return phrases[0] if avoided else group.phrase


def _in_words(part: Part, phrase: str) -> str:
    """Return a phrase with the tokens that name it: `words like “is”, “was”`, or the tokens themselves."""
    words = _listed(part.words)
    if part.group == TOKENS:
        return words
    named = phrase.replace("some kinds of words", f"words like {words}", 1)
    return named.replace("some others", f"words like {_listed(part.attending)}")


def _strongest(part: Part, *, most: int) -> list[str]:
    """Return the features that account for their group, the one with the largest pull first."""
    order = sorted(part.pulls, key=lambda name: (-part.pulls[name], name))[:most]
    return [name for name in order if _share_of_pull(part, name) >= LEAST_PULL]


def _share_of_pull(part: Part, name: str) -> float:
    """Return a feature's share of the total positive pull of its group."""
    whole = sum(pull for pull in part.pulls.values() if pull > 0)
    return part.pulls[name] / whole if whole > 0 else 0.0


def _keeps_away(part: Part, name: str, catalog: Catalog) -> bool:
    return part.coefficients[name] < 0 and not catalog.features[name].opposite


def _phrase(part: Part, special: Special, catalog: Catalog) -> str:
    # It is unknown if the alternatives to avoided keys are avoided, too.
    others = () if is_avoided(part, catalog) else part.alternatives
    phrase = phrase_of(part, catalog)
    # Words are kept as they are, even if one is `{cls}`.
    filled = phrase if part.words else special.fill(phrase)
    return either([filled, *(special.fill(catalog.groups[name].phrase) for name in others)])


def _listed(words: Sequence[str]) -> str:
    # A word with and without a leading space is two tokens, but is listed once.
    return ", ".join(f"“{word}”" for word in list(dict.fromkeys(words))[:MOST_WORDS])


class WordNames:
    """Names kinds of words in a text.

    Args:
        vocabulary: vocabulary facts, with the components of the text.
        counts: number of occurrences of each id in the sampled inputs, `[id]`.
        columns: columns of the fit.
    """

    def __init__(self, vocabulary: VocabularyFacts, counts: Integers, columns: Columns) -> None:
        self.vocabulary, self.columns = vocabulary, columns
        texts = vocabulary.texts
        ids = np.flatnonzero(counts[: len(texts)] >= FEWEST)
        self.ids = ids[[bool(texts[number].strip()) for number in ids.tolist()]] if len(ids) else ids
        self.weights = counts[self.ids] / max(1, counts[self.ids].sum())

    def of(self, group: str, coefficients: Doubles, pulls: Doubles) -> dict[str, Any]:
        """Name a group by its coefficients, and return the attributes of its `Part`; see `words` for their order.

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
            return {"words": [self._text(int(self.columns.token_ids[number])) for number in chosen], "avoided": avoided}
        if self.vocabulary.components is None or not len(self.ids):
            return {}
        if group in (words.KINDS, words.AFTER):
            scores = self._scores(coefficients)
            avoided = self._skew(scores) < 0
            return {"words": self._typical(-scores if avoided else scores), "avoided": avoided}
        if group == words.NEARBY:
            return self._nearby(coefficients.reshape(words.NEAR, -1))
        size = words.PAIRED if group == words.PAIRS else words.PAIRED_AFTER
        left, _, right = np.linalg.svd(coefficients.reshape(size, size))
        of_queries, of_keys = self._scores(left[:, 0]), self._scores(right[0])
        # The signs are arbitrary, since the opposite kinds attend to each other as well: the narrower kinds are named.
        sign = -1.0 if self._skew(of_queries) + self._skew(of_keys) < 0 else 1.0
        return {"words": self._typical(sign * of_keys), "attending": self._typical(sign * of_queries)}

    def _nearby(self, coefficients: Doubles) -> dict[str, Any]:
        """Name the kind of word that is favored more the nearer it is."""
        left, _, right = np.linalg.svd(coefficients, full_matrices=False)
        signs = [-1.0 if name.startswith("log_distance") else 1.0 for name in self.columns.near]
        nearness = sum(weight * sign for weight, sign in zip(right[0], signs, strict=True))
        scores = self._scores(left[:, 0]) * (-1.0 if nearness < 0 else 1.0)
        return {"words": self._typical(scores)}

    def _scores(self, direction: Doubles) -> Doubles:
        """Project each token of the text on a direction of the components, `[token]`."""
        return np.asarray(self.vocabulary.kinds(self.ids)[:, : len(direction)] @ direction)

    def _skew(self, scores: Doubles) -> float:
        """Compute the skewness over the tokens of the text; above 0 if few tokens lie far out on the high side."""
        centered = scores - self.weights @ scores
        scale = float(np.sqrt(self.weights @ centered**2))
        return float(self.weights @ centered**3) / scale**3 if scale > 0 else 0.0

    def _typical(self, scores: Doubles) -> tuple[str, ...]:
        """Return the tokens with high scores, frequent ones first."""
        order = np.argsort(-scores * np.log1p(self.weights / self.weights.min()), kind="stable")
        chosen = [self._text(int(self.ids[number])) for number in order[:MOST].tolist() if scores[number] > 0]
        return tuple(dict.fromkeys(chosen))

    def _text(self, token: int) -> str:
        texts = self.vocabulary.texts
        return texts[token] if token < len(texts) else f"⟨{token}⟩"
