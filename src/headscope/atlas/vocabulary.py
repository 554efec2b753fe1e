"""Search terms for heads: roles, relations, behaviors, statistics, each with its common names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headscope.report_kit.head_functions import HeadFunction
from headscope.report_kit.words import Words
from headscope.statistics.role_catalog import ROLES, SHOWN
from headscope.statistics.statistic_catalog import STATISTICS


def vocabulary(
    words: Words,
    measured: Sequence[HeadFunction],
    known: Sequence[tuple[HeadFunction, str]],
    *,
    explained: bool = False,
) -> list[dict[str, Any]]:
    """Return the search terms: `what`, `name`, `label`, `says`, and its `words`.

    `what` is role, relation, showing, statistic, or unmeasured: a term that this run did not measure, with the reason
    in `missing`.

    Args:
        words: the model's names of special tokens.
        measured: functions that the run looked for in heads.
        known: functions that the search understands even if the run did not measure them, each with the key of the
            missing part (of `missing`).
    """
    roles = [
        _entry("role", name, words.roles[name], "", (*ROLES[name].search_words, words.roles[name])) for name in SHOWN
    ]
    statistics = [
        _entry("statistic", name, words.statistics[name], "", (*entry.search_words, words.statistics[name]))
        for name, entry in STATISTICS.items()
        if entry.search_words
    ]
    names = {function.name for function in measured}
    others = [
        _named(function) | {"what": "unmeasured", "missing": missing}
        for function, missing in known
        if function.name not in names and function.search_words
    ]
    named = [_named(function) for function in measured if function.search_words]
    return [*roles, *named, *statistics, *others]


def _named(function: HeadFunction) -> dict[str, Any]:
    what = "relation" if function.is_relation else "showing"
    return _entry(what, function.name, function.label, function.description, function.search_words)


def _entry(what: str, name: str, label: str, says: str, words: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(word.lower() for word in words if word))
    return {"what": what, "name": name, "label": label, "says": says, "words": unique}
