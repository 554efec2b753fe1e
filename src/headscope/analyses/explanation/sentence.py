"""The sentence of a head: the groups of features that predict its attention, with the share of each, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
        tokens: the particular tokens with the largest pulls, as they are written.
        avoids_tokens: whether these are avoided, not favored.
        exchangeable: names of groups in place of which it costs less than a point.
    """

    group: str
    share: float
    coefficients: Mapping[str, float] = field(default_factory=dict)
    pulls: Mapping[str, float] = field(default_factory=dict)
    tokens: Sequence[str] = ()
    avoids_tokens: bool = False
    exchangeable: Sequence[str] = ()


def explanation_sentence(
    explained: float, parts: Sequence[Part], *, special: Special | None = None, catalog: Catalog = CATALOG
) -> str:
    """Return `95% explained: attends to [CLS] (61) and the previous token (22) and avoids digits (12)`.

    Args:
        explained: the explained share.
        parts: of the explanation, in any order.
        special: the names of the special tokens.
        catalog: the features and groups.
    """
    special = Special() if special is None else special
    largest = _merged(parts)[:MOST_GROUPS]
    said: dict[str, list[str]] = {verb: [] for verb in ("attends to", "favors", "avoids")}
    of_attending = 0.0
    for part in largest:
        if catalog.groups[part.group].family == ATTENDING:
            of_attending += part.share
            continue
        avoided = is_avoided(part, catalog)
        verb = "avoids" if avoided else "favors" if part.group == TOKENS else "attends to"
        phrase = _tokens(part) if part.group == TOKENS else _keys(part, special, catalog, avoided=avoided)
        said[verb].append(f"{phrase} ({_points(part.share)})")
    clauses = [f"{verb} {join(phrases)}" for verb, phrases in said.items() if phrases]
    if any(catalog.groups[part.group].family == ATTENDING for part in largest):
        clauses.append(f"depends on what attends ({_points(of_attending)})")
    if not clauses:
        return f"{percent(explained)} explained: no group of features adds a point"
    return f"{percent(explained)} explained: {join(clauses)}"


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Return the parts from the largest to the smallest, two that stand for one another as one, with their sum.

    Where the halves of the documents took one of them each, either has half of what the two are worth.

    Args:
        parts: of the explanation.
    """
    merged: dict[str, Part] = {}
    for part in sorted(parts, key=lambda part: -part.share):
        twins = (
            other for other in merged.values() if part.group in other.exchangeable and other.group in part.exchangeable
        )
        twin = next(twins, None)
        whole = part if twin is None else replace(twin, share=twin.share + part.share)
        merged[whole.group] = whole
    return sorted(merged.values(), key=lambda part: -part.share)


def is_avoided(part: Part, catalog: Catalog = CATALOG) -> bool:
    """Return whether a group keeps attention away: its strongest feature does, and has no word for its opposite."""
    if part.group == TOKENS:
        return part.avoids_tokens
    strongest = _strongest(part)
    return bool(strongest) and _keeps_away(part, strongest[0], catalog)


def phrase_of(part: Part, catalog: Catalog = CATALOG) -> str:
    """Return what the keys of a group are: its strongest features where one or two of them stand for it.

    Of a group that keeps attention away these are the keys that are avoided.

    Args:
        part: of the explanation.
        catalog: the features and groups.
    """
    group, avoided = catalog.groups[part.group], is_avoided(part, catalog)
    # Features that draw attention and features that keep it away make no list.
    alike = [name for name in _strongest(part) if _keeps_away(part, name, catalog) == avoided]
    phrases = [_feature_phrase(part, name, catalog) for name in alike]
    if group.by_feature and phrases:
        return join(list(dict.fromkeys(phrases)))
    return phrases[0] if avoided else group.phrase


def _strongest(part: Part) -> list[str]:
    """Return the features that stand for their group, the one with the largest pull first."""
    whole = sum(pull for pull in part.pulls.values() if pull > 0)
    order = sorted(part.pulls, key=lambda name: (-part.pulls[name], name))[:MOST_FEATURES]
    return [name for name in order if part.pulls[name] > 0 and part.pulls[name] >= LEAST_PULL * whole]


def _keeps_away(part: Part, name: str, catalog: Catalog) -> bool:
    return part.coefficients[name] < 0 and not catalog.features[name].opposite


def _feature_phrase(part: Part, name: str, catalog: Catalog) -> str:
    feature = catalog.features[name]
    return feature.opposite if part.coefficients[name] < 0 and feature.opposite else feature.sentence


def _keys(part: Part, special: Special, catalog: Catalog, *, avoided: bool) -> str:
    # Whether what stands for keys that are avoided is avoided, too, is not known.
    others = () if avoided else part.exchangeable
    return special.fill(either([phrase_of(part, catalog), *(catalog.groups[name].phrase for name in others)]))


def _tokens(part: Part) -> str:
    # With a space before it and without, a word is two tokens, and is said once.
    written = [f"“{token}”" for token in list(dict.fromkeys(part.tokens))[:MOST_TOKENS]]
    return ", ".join(written) if written else "particular tokens"


def _points(share: float) -> str:
    return f"{100 * share:.0f}"
