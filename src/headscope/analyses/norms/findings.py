"""Findings on which heads are inactive, and whether attention to sink tokens alone would have identified them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headscope.analyses.norms.accumulator import INACTIVE_BELOW
from headscope.analyses.norms.activity import SINK_THRESHOLD, Activity, activities
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import HeadRef, Sentence, continued, listed, numbered, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import count

TOPIC = "norms"


def norm_findings(about: Context) -> list[Sentence]:
    """Return sentences on the inactive heads, and on the heads whose sink attention and output norm disagree."""
    table = about.run.tables.get("norms")
    if table is None:
        return []
    return [each for kind in about.kinds for each in kind.findings(_of_kind(kind, activities(table, kind)))]


def _of_kind(kind: Kind, heads: Sequence[Activity]) -> Iterator[Sentence]:
    of, share = kind.of_kind, percent(INACTIVE_BELOW)
    tested = [head for head in heads if head.inactive is not None]
    if heads and not tested:
        why = "an interval of the output norm needs at least 10 documents"
        yield sentence(TOPIC, f"Which heads{of} are inactive was not tested: {why}.")
    if not tested:
        return
    norms = kind.shaded({(head.layer, head.head): head.relative.value for head in heads})
    inactive = [head for head in tested if head.inactive]
    if inactive:
        verb = "is" if len(inactive) == 1 else "are"
        these = f"{count(len(inactive), 'head')} of {len(tested):,}{of} {verb} inactive"
        below = f", with an output norm below {share} of the layer’s mean: "
        yield sentence(TOPIC, these + below, *_listed(inactive, kind), ".", figure=norms)
    elif all(head.relative.low > INACTIVE_BELOW for head in tested):
        why = f"every output norm is above {share} of the layer’s mean"
        yield sentence(TOPIC, f"no head of {len(tested):,}{of} is inactive: {why}.", figure=norms)
    else:
        why = f"no output norm is shown to be below {share} of the layer’s mean"
        yield sentence(TOPIC, f"no head of {len(tested):,}{of} is shown to be inactive: {why}.", figure=norms)
    if on_sink := [head for head in tested if head.attends_to_sink]:
        yield from _on_sink(kind, on_sink)
    if off_sink := [head for head in inactive if not head.attends_to_sink]:
        verb, its = ("is", "its") if len(off_sink) == 1 else ("are", "their")
        these = f"{count(len(off_sink), 'head')}{of} {verb} inactive, though at most "
        sinks = f"{percent(SINK_THRESHOLD)} of {its} attention is on sink tokens: "
        yield sentence(TOPIC, these + sinks, *_listed(off_sink, kind), ".")


def _on_sink(kind: Kind, on_sink: Sequence[Activity]) -> Iterator[Sentence]:
    """Yield the number of heads with most of their attention on sink tokens, and those of them that are active."""
    active = [head for head in on_sink if not head.inactive]
    single, number = len(on_sink) == 1, len(on_sink) - len(active)
    verb, its = ("puts", "its") if single else ("put", "their")
    heads = f"{count(len(on_sink), 'head')}{kind.of_kind} {verb} over {percent(SINK_THRESHOLD)}"
    start = f"{heads} of {its} attention on a sink token, "
    sinks = kind.shaded({(head.layer, head.head): 1 for head in on_sink})
    listed_active = _listed(active, kind, descending=True)
    if not active:
        yield sentence(TOPIC, start, f"and {'it' if single else 'each'} is inactive.", figure=sinks)
    elif not number:
        verdict = f"yet {'it is not' if single else 'none is'} inactive: "
        yield sentence(TOPIC, start, verdict, *listed_active, ".", figure=sinks)
    else:
        those = f"and {number:,} of them {'is' if number == 1 else 'are'} inactive."
        yield sentence(TOPIC, start, those, figure=sinks)
        yield continued(TOPIC, f"The others{kind.of_kind} are not inactive: ", *listed_active, ".")


def _listed(heads: Sequence[Activity], kind: Kind, *, descending: bool = False) -> list[HeadRef | str]:
    """Return a list of heads, ordered by their output norm in the layer."""
    ordered = sorted(heads, key=lambda head: (head.relative.value, head.layer, head.head), reverse=descending)
    return listed(numbered(kind.name, head.layer, head.head) for head in ordered)
