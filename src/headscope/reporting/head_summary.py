"""The first line of a head, from its functions and attention targets: badge, headline and color."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from headscope.analyses.for_report import every_part, functions_of
from headscope.present.cells import NO_NUMBER
from headscope.present.head_functions import LOOKS, UNEXPLAINED, FunctionScores, HeadFunction, HeadLook
from headscope.present.kinds import Kind, kinds_of
from headscope.present.linked_sentences import measured
from headscope.present.numbers import interval_decimals, joined, json_numbers, percent
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.present.words import Words, capital, plain, words_for
from headscope.statistics.roles import ROLES
from headscope.statistics.tables.frames import is_true

NOTHING_SUPPORTED = "No supported pattern"


def finds_of(run: Study, kind: Kind, functions: Sequence[FunctionScores]) -> dict[int, list[dict[str, Any]]]:
    """Return the relations that each head of a kind finds, by head index: best held out, and above the baseline."""
    if "finds" not in run.roles:
        return {}
    relations = {scores.function.name: scores for scores in functions if scores.function.is_relation}
    rows = run.roles[run.roles["kind"] == kind.name]
    return {
        kind.head_index(layer, head): [_find(relations[name]) for name in finds]
        for layer, head, finds in zip(rows["layer"], rows["head"], rows["finds"])
        if finds
    }


def _find(scores: FunctionScores) -> dict[str, Any]:
    cell = next((best.value for best in scores.best.values()), None) or NO_NUMBER
    ends = (cell.ci_low, cell.ci_high) if cell.has_interval else (float("nan"), float("nan"))
    return _entry(scores.function, cell.value, *ends)


def _entry(function: HeadFunction, *numbers: float) -> dict[str, Any]:
    """Return a function of a head with its value and the ends of its interval."""
    value, low, high = json_numbers(np.array(numbers, dtype=np.float64))
    fields = {"name": function.label, "says": function.description, "role": function.role}
    return fields | {"value": value, "low": low, "high": high}


def shows_of(kind: Kind, functions: Sequence[FunctionScores]) -> dict[int, list[dict[str, Any]]]:
    """Return the searchable behaviors that each head of a kind shows, by head index.

    Each has its value and interval, and its norm-weighted value, if it is known.
    """
    out: dict[int, list[dict[str, Any]]] = {}
    for scores in functions:
        function, heads = scores.function, scores.heads
        if function.is_relation or heads is None or not function.search_words:
            continue
        for row in heads[(heads["kind"] == kind.name) & is_true(heads["shows"])].to_dict("records"):
            entry = _entry(function, row["value"], row["ci_low"], row["ci_high"])
            (norm,) = json_numbers(np.array([row["norm"]], dtype=np.float64))
            known = {} if norm is None else {"written": norm}
            out.setdefault(kind.head_index(row["layer"], row["head"]), []).append(
                {"id": function.name, **entry, **known}
            )
    return out


@once_a_study
def _known(run: Study) -> dict[str, dict[int, HeadLook]]:
    return {
        kind.name: {index: look for parts in every_part() for index, look in parts.looks(run, kind).items()}
        for kind in kinds_of(run)
    }


def is_explained(run: Study) -> bool:
    """Return True if the run explained heads; otherwise heads are colored by their roles."""
    return any(_known(run).values())


def looks_of(run: Study, kind: Kind) -> list[HeadLook]:
    """Return the attention target of each head of a kind, in head order; heads without data are unexplained."""
    known, nothing = _known(run)[kind.name], HeadLook(color=UNEXPLAINED, explained=float("nan"), sink=float("nan"))
    return [known.get(index, nothing) for index in range(kind.size)]


@dataclass(frozen=True)
class HeadSummary:
    """A head's strongest supported fact.

    Attributes:
        name: the fact in a few words, `Finds obj`.
        rest: meaning and number with interval, ` (direct object): 74% of cases (95% interval 71 to 77)`.
    """

    name: str
    rest: str = ""

    @property
    def text(self) -> str:
        """The whole line."""
        return self.name + self.rest


def head_summaries(run: Study) -> dict[tuple[str, int, int], HeadSummary]:
    """Return the strongest supported fact of every head, by (kind, layer, head), 1-based."""
    functions, words = functions_of(run), words_for(run.manifest)
    return {
        (kind.name, index // kind.heads_per_layer + 1, index % kind.heads_per_layer + 1): summary
        for kind in kinds_of(run)
        for index, summary in enumerate(summaries_of_kind(run, kind, functions, words))
    }


def summaries_of_kind(run: Study, kind: Kind, functions: Sequence[FunctionScores], words: Words) -> list[HeadSummary]:
    """Return the strongest supported fact of each head of a kind, in head order."""
    finds, shows = finds_of(run, kind, functions), shows_of(kind, functions)
    explained = {index: text for parts in every_part() for index, text in parts.head_sentences(run, kind).items()}
    looks = looks_of(run, kind) if is_explained(run) else None
    return [
        _of_share(_strongest(finds.get(index, ())), "Finds ", " of cases")
        or (_of_look(looks[index], explained.get(index, ""), words) if looks is not None else None)
        or _of_share(strongest_behavior(shows.get(index, ()), kind.roles[index]))
        or _role(kind, index, words)
        or HeadSummary(NOTHING_SUPPORTED)
        for index in range(kind.size)
    ]


def _of_look(look: HeadLook, sentence: str, words: Words) -> HeadSummary:
    """Summarize the targets: `Nearby tokens: attends to [CLS] (63%), later tokens nearby (14%); 88% predicted`."""
    name = capital(words.fill(LOOKS[look.color].label))
    sentence = plain(sentence[:1].lower() + sentence[1:])
    if look.color == UNEXPLAINED and not isnan(look.explained):
        off_sink = f"{percent(look.explained)} of its attention off the sink is predicted"
        return HeadSummary(name, f": {off_sink}{f'; {sentence}' if sentence else ''}")
    return HeadSummary(name, f": {sentence}" if sentence else "")


def strongest_behavior(shows: Sequence[Mapping[str, Any]], role: str) -> Mapping[str, Any] | None:
    """Return the behavior for a head's line, among those that it shows; None if there is none."""
    return _strongest([each for each in shows if each["role"] != role or not ROLES[role].statistic])


def _strongest(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return max(entries, key=lambda entry: -1.0 if entry["value"] is None else entry["value"], default=None)


def _of_share(best: Mapping[str, Any] | None, before: str = "", of: str = "") -> HeadSummary | None:
    if best is None:
        return None
    meaning = f" ({best['says']})" if best["says"] else ""
    return HeadSummary(capital(before + best["name"]), f"{meaning}{_number(best, of)}")


def _number(entry: Mapping[str, Any], of: str) -> str:
    value, low, high = entry["value"], entry["low"], entry["high"]
    if value is None:
        return ""
    if low is None or high is None:
        return f": {percent(value)}{of}"
    decimals = interval_decimals(low, high)
    interval = joined(low, high, lambda end: f"{100 * end:.{decimals}f}", between=" to ")
    return f": {percent(value, decimals)}{of} (95% interval {interval})"


def _role(kind: Kind, index: int, words: Words) -> HeadSummary | None:
    role = ROLES[kind.roles[index]]
    if not role.statistic:
        return None
    layer, head = divmod(index, kind.heads_per_layer)
    value, ends = measured(kind.cell(role.statistic, layer + 1, head + 1), role.statistic)
    return HeadSummary(capital(words.roles[role.name]), f": {value} {words.fill(role.phrase)}{ends}")
