"""Words by which heads are asked for: roles, relations and statistics, each with what people call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headscope.reporting.kit.targets import Findable
from headscope.reporting.kit.words import ROLES, STATISTICS, Words

_ROLES = {
    "previous": ("previous", "preceding", "before", "backward", "look back", "left"),
    "next": ("next", "following", "after", "forward", "look ahead", "right"),
    "cls": ("cls", "first token", "classification token"),
    "sep": ("sep", "separator", "no-op", "rest", "resting", "nothing to do"),
    "punctuation": ("punctuation", "period", "comma", "full stop", "dot"),
    "broad": ("broad", "spread", "uniform", "everywhere", "everything", "bag of words"),
    "mixed": ("mixed", "no role", "without role", "unclear"),
}
_STATISTICS = {
    "current": ("current token", "current", "itself", "same token"),
    "entropy": ("entropy",),
    "max_weight": ("largest weight", "sharp", "focused", "confident", "peaked"),
}


def vocabulary(words: Words, measured: Sequence[Findable], known: Sequence[Findable]) -> list[dict[str, Any]]:
    """Return what can be asked for: `what`, `name`, `label`, `says`, and its `words`.

    `what` is role, relation, statistic, or unmeasured: a relation that this run knows nothing of.

    Args:
        words: the model's names of special tokens.
        measured: what the run looked for.
        known: what is understood also where the run did not measure it, to say so.
    """
    roles = [
        _entry("role", name, words.roles[name], "", (*_ROLES[name], words.roles[name])) for name in ROLES
    ]
    statistics = [
        _entry("statistic", name, words.statistics[name], "", (*_STATISTICS[name], words.statistics[name]))
        for name in STATISTICS
        if name in _STATISTICS
    ]
    names = {what.name for what in measured}
    others = [_findable(what) | {"what": "unmeasured"} for what in known if what.name not in names]
    return [*roles, *(_findable(what) for what in measured), *statistics, *others]


def _findable(what: Findable) -> dict[str, Any]:
    return _entry("relation", what.name, what.label, what.says, what.words)


def _entry(what: str, name: str, label: str, says: str, words: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(word.lower() for word in words if word))
    return {"what": what, "name": name, "label": label, "says": says, "words": unique}
