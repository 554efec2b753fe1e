"""Words by which heads are asked for: roles, relations and statistics, each with what people call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headscope.reporting.kit.targets import Findable
from headscope.reporting.kit.words import Words
from headscope.statistics.role_catalogue import ROLES, SHOWN
from headscope.statistics.statistic_catalogue import STATISTICS


def vocabulary(words: Words, measured: Sequence[Findable], known: Sequence[Findable]) -> list[dict[str, Any]]:
    """Return what can be asked for: `what`, `name`, `label`, `says`, and its `words`.

    `what` is role, relation, statistic, or unmeasured: a relation that this run knows nothing of.

    Args:
        words: the model's names of special tokens.
        measured: what the run looked for.
        known: what is understood also where the run did not measure it, to say so.
    """
    roles = [
        _entry("role", name, words.roles[name], "", (*ROLES[name].asked, words.roles[name])) for name in SHOWN
    ]
    statistics = [
        _entry("statistic", name, words.statistics[name], "", (*one.asked, words.statistics[name]))
        for name, one in STATISTICS.items()
        if one.asked
    ]
    names = {what.name for what in measured}
    others = [_findable(what) | {"what": "unmeasured"} for what in known if what.name not in names]
    return [*roles, *(_findable(what) for what in measured), *statistics, *others]


def _findable(what: Findable) -> dict[str, Any]:
    return _entry("relation", what.name, what.label, what.says, what.words)


def _entry(what: str, name: str, label: str, says: str, words: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(word.lower() for word in words if word))
    return {"what": what, "name": name, "label": label, "says": says, "words": unique}
