"""Words by which heads are asked for: roles, relations, what heads show, statistics, each with what people call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.report_kit.showings import Showable
from headscope.report_kit.targets import Findable
from headscope.report_kit.words import Words
from headscope.statistics.role_catalog import ROLES, SHOWN
from headscope.statistics.statistic_catalog import STATISTICS


@dataclass(frozen=True)
class Known:
    """What is understood also where a run did not measure it, and what it then lacks (a name in `missing`)."""

    what: Findable | Showable
    missing: str


def vocabulary(
    words: Words, measured: Sequence[Findable], shown: Sequence[Showable], known: Sequence[Known]
) -> list[dict[str, Any]]:
    """Return what can be asked for: `what`, `name`, `label`, `says`, and its `words`.

    `what` is role, relation, showing, statistic, or unmeasured: one that this run knows nothing of, with what is
    `missing`.

    Args:
        words: the model's names of special tokens.
        measured: what the run looked for.
        shown: what it saw heads doing.
        known: what is understood also where the run did not measure it, to say so.
    """
    roles = [
        _entry("role", name, words.roles[name], "", (*ROLES[name].search_words, words.roles[name]))
        for name in SHOWN
    ]
    statistics = [
        _entry("statistic", name, words.statistics[name], "", (*entry.search_words, words.statistics[name]))
        for name, entry in STATISTICS.items()
        if entry.search_words
    ]
    findable: list[Findable | Showable] = [*measured, *shown]
    names = {what.name for what in findable}
    others = [
        _named(entry.what) | {"what": "unmeasured", "missing": entry.missing}
        for entry in known
        if entry.what.name not in names and entry.what.words
    ]
    named = [_named(what) for what in findable if what.words]
    return [*roles, *named, *statistics, *others]


def _named(what: Findable | Showable) -> dict[str, Any]:
    sort = "showing" if isinstance(what, Showable) else "relation"
    return _entry(sort, what.name, what.label, what.says, what.words)


def _entry(what: str, name: str, label: str, says: str, words: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(word.lower() for word in words if word))
    return {"what": what, "name": name, "label": label, "says": says, "words": unique}
