"""The one line that names a head: its strongest supported fact.

The rule, of which the first that holds is said:

1. It finds a relation, or antecedents, beyond the baselines: of several the one with the highest accuracy.
2. It shows a behavior, in text or on controlled inputs: of several the one with the largest share. A behavior that the
   head's role says more exactly (at most 3 tokens away, of a head whose role is the previous token) is left out.
3. Its explanation, where heads were explained.
4. It has a role.

Of what is left nothing is supported, and the line says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.analyses.for_report import every_part, functions_of
from headscope.report_kit.head_functions import FunctionScores
from headscope.report_kit.kinds import Kind, kinds_of
from headscope.report_kit.linked_sentences import measured
from headscope.report_kit.numbers import interval_decimals, joined, percent
from headscope.report_kit.words import Words, capital, words_for
from headscope.reporting.head_functions import finds_of, shows_of
from headscope.statistics.role_catalog import ROLES
from headscope.study.study import Study

NOTHING_SUPPORTED = "No supported pattern"


@dataclass(frozen=True)
class HeadSummary:
    """A head's strongest supported fact.

    Attributes:
        name: the fact in a few words, `Finds obj`.
        rest: what it means and its number with the interval, ` (direct object): 74% of cases (95% interval 71 to 77)`.
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
    return [
        _of_share(_strongest(finds.get(index, ())), "Finds ", " of cases")
        or _of_share(strongest_behavior(shows.get(index, ()), kind.roles[index]))
        or (HeadSummary(capital(explained[index])) if explained.get(index) else None)
        or _role(kind, index, words)
        or HeadSummary(NOTHING_SUPPORTED)
        for index in range(kind.size)
    ]


def strongest_behavior(shows: Sequence[Mapping[str, Any]], role: str) -> Mapping[str, Any] | None:
    """Return the behavior that a head's line says, of those that it shows; None where it says none."""
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
