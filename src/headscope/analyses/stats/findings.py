"""Findings on statistics: positions, special tokens, focus, and how many heads have each role."""

from __future__ import annotations

from collections import Counter

from headscope.analyses.stats.by_norm import norm_finding
from headscope.analyses.stats.focus_findings import focus_sentences, noop_sentences
from headscope.analyses.stats.share_findings import (
    BEHAVIORS,
    no_share_stands_out,
    position_sentences,
    special_sentences,
)
from headscope.report_kit.claim_rules import stands_out
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import Words, count
from headscope.statistics.role_catalog import ROLES, SHOWN


def stats_findings(about: Context) -> list[Sentence]:
    """Return the sentences on statistics and roles, kind by kind."""
    words, gaps = about.words, about.run.tables.get("stats_differences")
    sentences: list[Sentence] = []
    none_stands_out = not any(
        stands_out(cell) for kind in about.kinds for name in BEHAVIORS for _, _, cell in kind.each(name)
    )
    if none_stands_out:
        sentences.append(no_share_stands_out(about.kinds, words))
    for kind in about.kinds:
        of_kind = [
            *position_sentences(kind, words, gaps),
            *special_sentences(kind, words),
            *noop_sentences(kind, words, gaps),
            *focus_sentences(kind, words, gaps, none_stands_out=none_stands_out),
            _roles(kind, words),
            *norm_finding(about.run, kind, words),
        ]
        sentences += kind.findings(of_kind)
    return sentences


def _roles(kind: Kind, words: Words) -> Sentence:
    counts = Counter(kind.roles)
    parts = [f"{counts[role]:,} {words.fill(ROLES[role].of_heads)}" for role in SHOWN if counts[role]]
    return sentence(
        "roles", f"of {count(kind.size, kind.noun)}, by the thresholds on the averages: {'; '.join(parts)}."
    )
