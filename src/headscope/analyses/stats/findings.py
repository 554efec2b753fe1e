"""Findings on statistics: positions, special tokens, focus, and the number of heads with each role."""

from __future__ import annotations

from collections import Counter

from headscope.analyses.stats.by_norm import norm_finding
from headscope.analyses.stats.focus_findings import first_token_sentences, focus_sentences, noop_sentences
from headscope.analyses.stats.share_findings import (
    BEHAVIORS,
    no_share_stands_out,
    position_sentences,
    special_sentences,
)
from headscope.report_kit.claim_rules import standing_out
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, sentence
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Shades, shades
from headscope.report_kit.words import Words, count, join
from headscope.statistics.role_catalog import OTHERWISE, SHOWN


def stats_findings(about: Context) -> list[Sentence]:
    """Return the sentences on statistics and roles, kind by kind."""
    words, gaps = about.words, about.run.tables.get("stats_differences")
    sentences: list[Sentence] = []
    none_stands_out = not any(standing_out(kind, name) for kind in about.kinds for name in BEHAVIORS)
    if none_stands_out:
        sentences += no_share_stands_out(about.kinds, words)
    for kind in about.kinds:
        of_kind = [
            *position_sentences(kind, words, gaps),
            *special_sentences(kind, words),
            *noop_sentences(kind, words, gaps),
            *focus_sentences(kind, none_stands_out=none_stands_out),
            *first_token_sentences(kind, about.kinds, words, gaps),
            *_roles(kind, words),
            *norm_finding(about.run, kind, words),
        ]
        sentences += kind.findings(of_kind)
    return sentences


def _roles(kind: Kind, words: Words) -> list[Sentence]:
    """Return the finding on the number of heads with a role, and on the most frequent roles."""
    counts = Counter(role for role in kind.roles if role != OTHERWISE and role in SHOWN)
    total = sum(counts.values())
    if not total:
        return [sentence("roles", f"no {kind.noun} of {kind.size:,} has a role.", figure=Shades())]
    ordered = sorted(counts, key=lambda role: (-counts[role], SHOWN.index(role)))
    roles = [f"{counts[role]:,} {words.roles[role]}" for role in ordered[:MOST_LISTED]]
    if others := total - sum(counts[role] for role in ordered[:MOST_LISTED]):
        roles.append(f"{others:,} {'other' if others == 1 else 'others'}")
    verb = "has" if total == 1 else "have"
    text = f"{total:,} of {count(kind.size, kind.noun)} {verb} a role: {join(roles)}."
    has_role = shades(role in counts for role in kind.roles)
    return [sentence("roles", text, figure=has_role)]
