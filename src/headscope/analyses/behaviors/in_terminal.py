"""Behaviors in a terminal: the head chosen for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, Behavior
from headscope.analyses.behaviors.chosen import BehaviorHead, chosen_heads
from headscope.analyses.behaviors.verdict_rule import RULE
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.numbers import terminal_ends, terminal_share
from headscope.report_kit.tables.terminal import Grid

_TITLES = (*("behavior", "head", "%", "95% interval", "uniform", "control"), *("all", "held out", "heads", "rows"))
NOTE = (
    "percent of attention (retrieval: of tokens); head: the one that halves of the documents choose most often, on "
    "documents that did not choose it; all: the head on all documents, too high where heads are nearly equal; held "
    "out: what the choice is worth on the other half; uniform: attention spread evenly, in the same rows (retrieval: a "
    f"key drawn at random); control: the same choice with random weights; heads: how many show it, {RULE}"
)


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield the head chosen for each behavior in text."""
    natural = tuple(BEHAVIORS[name] for name in NATURAL)
    yield from render_chosen_heads(result.tables["behaviors"], result.tables["behaviors_best"], natural)
    yield NOTE


def render_chosen_heads(heads: pd.DataFrame, best: pd.DataFrame, behaviors: Sequence[Behavior]) -> Iterator[Grid | str]:
    """Yield a row for the head chosen for each behavior, and these heads' norm-weighted attention where it is known."""
    kinds = list(dict.fromkeys(heads["kind"]))
    chosen = [head for kind in kinds for head in chosen_heads(heads, best, kind, behaviors)]
    prefix = kind_prefixes(kinds)
    yield Grid(_TITLES, [_row(head, prefix[head.kind]) for head in chosen], words=("head",))
    # One more column would be too wide for most terminals.
    by_norm = [
        f"{prefix[head.kind]}{head.behavior.name} {terminal_share(head.by_norm.value)}"
        for head in chosen
        if head.by_norm is not None
    ]
    if by_norm:
        yield f"the same of what these heads write: {', '.join(by_norm)}"


def _row(head: BehaviorHead, prefix: str) -> list[str]:
    estimate = head.estimate
    return [
        head.behavior.name,
        prefix + head_label(head.layer, head.head),
        terminal_share(estimate.value),
        terminal_ends(estimate.ci_low, estimate.ci_high),
        terminal_share(estimate.uniform),
        "-" if head.control is None else terminal_share(head.control.mean),
        terminal_share(head.all_documents.value),
        terminal_share(head.held_out.value),
        f"{len(head.heads):,}" if head.tested else "-",
        f"{estimate.n:,}",
    ]
