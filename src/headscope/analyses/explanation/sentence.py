"""The sentence of a head: the groups of features that predict its attention, with the share of each, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.feature import ATTENDING, TOKENS
from headscope.report_kit.numbers import percent
from headscope.report_kit.words import either, join
from headscope.statistics.statistic import Special

MOST_GROUPS = 4
"""Groups that the sentence names, those with the largest shares; the table has all."""
MOST_TOKENS, MOST_FEATURES = 6, 2
LEAST_PULL = 0.3
"""A feature stands for its group where it has so much of the pull of all of the group's features."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A group of an explanation.

    Attributes:
        group: its name.
        share: what it adds to the explained share, which may be negative.
        coefficients: of its features, by name.
        pulls: how far each of them draws attention: its coefficient times its mean under the attention less that under
            uniform attention. What a group gains is, to first order, the sum of them.
        tokens: the tokens that it favors, the most favored first, as they are written.
        exchangeable: names of groups in place of which it costs less than a point.
    """

    group: str
    share: float
    coefficients: Mapping[str, float] = field(default_factory=dict)
    pulls: Mapping[str, float] = field(default_factory=dict)
    tokens: Sequence[str] = ()
    exchangeable: Sequence[str] = ()


def explanation_sentence(
    explained: float, parts: Sequence[Part], *, special: Special | None = None, catalog: Catalog = CATALOG
) -> str:
    """Return `95% explained: attends to [CLS] (61), the previous token (22) and pieces of the same word (12)`.

    Args:
        explained: the explained share.
        parts: of the explanation, in any order.
        special: the names of the special tokens.
        catalog: the features and groups.
    """
    special = Special() if special is None else special
    largest = sorted(parts, key=lambda part: -part.share)[:MOST_GROUPS]
    clauses = []
    of_attending = [part for part in largest if catalog.groups[part.group].family == ATTENDING]
    attended = [
        f"{_target(part, special, catalog)} ({_points(part.share)})"
        for part in largest
        if part.group != TOKENS and part not in of_attending
    ]
    if attended:
        clauses.append(f"attends to {join(attended)}")
    clauses += [f"favors {_tokens(part)} ({_points(part.share)})" for part in largest if part.group == TOKENS]
    if of_attending:
        share = sum(part.share for part in of_attending)
        clauses.append(f"depends on what attends ({_points(share)})")
    if not clauses:
        return f"{percent(explained)} explained: no group of features adds a point"
    return f"{percent(explained)} explained: {join(clauses)}"


def phrase_of(part: Part, catalog: Catalog = CATALOG) -> str:
    """Return what the keys of a group are: its strongest features where one or two of them stand for it.

    Args:
        part: of the explanation.
        catalog: the features and groups.
    """
    group = catalog.groups[part.group]
    whole = sum(pull for pull in part.pulls.values() if pull > 0)
    strongest = [
        name
        for name in sorted(part.pulls, key=lambda name: (-part.pulls[name], name))[:MOST_FEATURES]
        if part.pulls[name] > 0 and part.pulls[name] >= LEAST_PULL * whole
    ]
    phrases = [_feature_phrase(part, name, catalog) for name in strongest]
    if group.by_feature and phrases:
        return join(list(dict.fromkeys(phrases)))
    # A group whose strongest feature keeps attention away is called by what it is not.
    return phrases[0] if strongest and part.coefficients[strongest[0]] < 0 else group.phrase


def _feature_phrase(part: Part, name: str, catalog: Catalog) -> str:
    feature = catalog.features[name]
    if part.coefficients[name] > 0:
        return feature.sentence
    return feature.opposite or f"tokens other than {feature.sentence}"


def _target(part: Part, special: Special, catalog: Catalog) -> str:
    phrases = [phrase_of(part, catalog), *(catalog.groups[name].phrase for name in part.exchangeable)]
    return special.fill(either(phrases))


def _tokens(part: Part) -> str:
    written = [f"“{token}”" for token in part.tokens[:MOST_TOKENS]]
    return ", ".join(written) if written else "particular tokens"


def _points(share: float) -> str:
    return f"{100 * share:.0f}"
