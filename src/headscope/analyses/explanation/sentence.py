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
MOST_WORDS = 4
LEAST_PULL, MOST_OF_PULL = 0.3, 0.6
"""A feature is named for its group if it has so much of the pull of all of the group's features; one alone, so much."""
LEAST_OTHERS = 0.01


@dataclass(frozen=True, kw_only=True)
class Part:
    """A group of an explanation.

    Attributes:
        group: its name.
        share: what it adds to the explained share, which may be negative.
        coefficients: of its features, by name.
        pulls: how far each of them draws attention: its coefficient times its mean under the attention less that under
            uniform attention. What a group gains is, to first order, the sum of them.
        words: the tokens that are favored most, or that name the favored kind of word, as they are written.
        attending: the same of the attending tokens, for a group of pairs.
        avoided: whether the words are avoided.
        alternatives: names of groups that would do as well.
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
        explained: the explained share; None if it was not measured, and the sentence then has no shares.
        parts: of the explanation, in any order; in their order if nothing was measured.
        special: the names of the special tokens.
        catalog: the features and groups.
    """
    special = Special() if special is None else special
    if explained is None:
        named = parts[:MOST_GROUPS]
    else:
        named = [part for part in _merged(parts) if part.share >= LEAST_OTHERS][:MOST_GROUPS]
    if explained is not None and not named:
        return f"No simple rule predicts a percent of its attention; all features together predict {percent(explained)}"
    clauses: dict[str, list[str]] = {"attends to": [], "avoids": [], "varies with": []}
    for part in named:
        if part.group == ATTENDING:
            verb, phrase = "varies with", "the attending token"
        else:
            verb = "avoids" if is_avoided(part, catalog) else "attends to"
            phrase = _phrase(part, special, catalog)
        clauses[verb].append(phrase if explained is None else f"{phrase} ({percent(part.share)})")
    said = join([f"{verb} {join(phrases)}" for verb, phrases in clauses.items() if phrases])
    sentence = f"{said[:1].upper()}{said[1:]}"
    if explained is None:
        return f"{sentence}; not tested on other documents"
    others = explained - sum(part.share for part in named)
    rest = f"; others {percent(others)}" if others >= LEAST_OTHERS else ""
    return f"{sentence}{rest}; {percent(explained)} predicted"


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Return the parts from the largest to the smallest, two of which either would do as one, with their sum."""
    merged: dict[str, Part] = {}
    for part in sorted(parts, key=lambda part: -part.share):
        twins = (
            other for other in merged.values() if part.group in other.alternatives and other.group in part.alternatives
        )
        twin = next(twins, None)
        whole = part if twin is None else replace(twin, share=twin.share + part.share)
        merged[whole.group] = whole
    return sorted(merged.values(), key=lambda part: -part.share)


def is_avoided(part: Part, catalog: Catalog = CATALOG) -> bool:
    """Return True if a group keeps attention away: its strongest feature does, and has no word for its opposite."""
    if part.words:
        return part.avoided
    strongest = _strongest(part, most=1)
    return bool(strongest) and _keeps_away(part, strongest[0], catalog)


def phrase_of(part: Part, catalog: Catalog = CATALOG) -> str:
    """Return the keys of a group in words: its strongest features if one or two of them account for it.

    Of a group that keeps attention away these are the keys that are avoided.

    Args:
        part: of the explanation.
        catalog: the features and groups.
    """
    group, avoided = catalog.groups[part.group], is_avoided(part, catalog)
    if part.words:
        return _in_words(part, group.phrase)
    # Features that draw attention and features that keep it away make no list.
    strongest = _strongest(part, most=max(1, group.named_features))
    alike = [name for name in strongest if _keeps_away(part, name, catalog) == avoided]
    phrases = [_feature_phrase(part, name, catalog) for name in alike]
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
    """Return a feature's share of the pull of all features of its group that draw attention."""
    whole = sum(pull for pull in part.pulls.values() if pull > 0)
    return part.pulls[name] / whole if whole > 0 else 0.0


def _keeps_away(part: Part, name: str, catalog: Catalog) -> bool:
    return part.coefficients[name] < 0 and not catalog.features[name].opposite


def _feature_phrase(part: Part, name: str, catalog: Catalog) -> str:
    feature = catalog.features[name]
    return feature.opposite if part.coefficients[name] < 0 and feature.opposite else feature.sentence


def _phrase(part: Part, special: Special, catalog: Catalog) -> str:
    # Whether the alternatives to keys that are avoided are avoided, too, is not known.
    others = () if is_avoided(part, catalog) else part.alternatives
    phrase = phrase_of(part, catalog)
    # Words are written as they are, even if one is `{cls}`.
    filled = phrase if part.words else special.fill(phrase)
    return either([filled, *(special.fill(catalog.groups[name].phrase) for name in others)])


def _listed(words: Sequence[str]) -> str:
    # With a space before it and without, a word is two tokens, and is named once.
    return ", ".join(f"“{word}”" for word in list(dict.fromkeys(words))[:MOST_WORDS])
