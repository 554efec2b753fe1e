"""What statistics say, in words: positions, special tokens, focus, and how many heads have each role."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from headscope.analyses.stats.by_norm import norm_finding
from headscope.analyses.stats.shares import BEHAVIORS, nothing, position, special
from headscope.analyses.stats.spread import focus, noop
from headscope.reporting.kit.claim_rules import stands_out
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence, sentence
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import Words, count
from headscope.statistics.role_catalog import ROLES, SHOWN


def stats_findings(about: Context) -> list[Sentence]:
    """Return the sentences on statistics and roles, kind by kind."""
    several, words, gaps = about.several, about.words, about.run.table("stats_differences")
    found: list[Sentence] = []
    none_stands_out = not any(
        stands_out(cell) for kind in about.kinds for name in BEHAVIORS for _, _, cell in kind.each(name)
    )
    if none_stands_out:
        found.append(nothing(about.kinds, words, several))
    for kind in about.kinds:
        own = [
            *position(kind, words, gaps, several),
            *special(kind, words, several),
            *noop(kind, words, gaps, several),
            *focus(kind, words, gaps, several, none_stands_out=none_stands_out),
            _roles(kind, words, several),
            *norm_finding(about.run, kind, words, several=several),
        ]
        found += [replace(one, kind=kind.name) for one in own]
    return found


def _roles(kind: Kind, words: Words, several: bool) -> Sentence:
    counts = Counter(kind.roles)
    parts = [f"{counts[role]:,} {words.fill(ROLES[role].of_heads)}" for role in SHOWN if counts[role]]
    whose = f"{kind.name} heads" if several else "heads"
    return sentence(
        "roles", f"of {count(kind.size, whose[:-1])}, by the thresholds on the averages: {'; '.join(parts)}."
    )
