"""Findings on which heads are inactive, and whether attention to sink tokens alone would have told them."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.analyses.norms.accumulator import INACTIVE_BELOW
from headscope.analyses.norms.activity import SINK_THRESHOLD, Activity, activities
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import HeadRef, Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import count

TOPIC = "norms"


def norm_findings(about: Context) -> list[Sentence]:
    """Say which heads are inactive, and for which heads attention to the sink and output length disagree."""
    table = about.run.tables.get("norms")
    if table is None:
        return []
    return [
        finding for kind in about.kinds for finding in kind.findings(_of_kind(kind, activities(table, kind)))
    ]


def _of_kind(kind: Kind, heads: Sequence[Activity]) -> list[Sentence]:
    if not heads:
        return []
    of = kind.of_kind
    tested = [head for head in heads if head.inactive is not None]
    if not tested:
        text = (
            f"Which heads{of} are inactive was not tested: an interval of the output norm needs at least 10 "
        )
        text += "documents."
        return [sentence(TOPIC, text)]
    inactive = [head for head in tested if head.inactive]
    on_sink = [head for head in tested if head.attends_to_sink]
    inactive_off_sink = [head for head in inactive if not head.attends_to_sink]
    share = percent(INACTIVE_BELOW)
    if inactive:
        verb = "is" if len(inactive) == 1 else "are"
        first = sentence(
            TOPIC,
            f"{count(len(inactive), 'head')} of {len(tested):,}{of} {verb} inactive, with an output norm below "
            f"{share} of the layer’s mean: ",
            *_listed(inactive, kind),
            ".",
        )
    else:
        first = sentence(
            TOPIC,
            f"no head of {len(tested):,}{of} is inactive: none has an output norm below {share} of its layer’s mean.",
        )
    findings = [first]
    if on_sink:
        findings += _on_sink(kind, on_sink)
    if inactive_off_sink:
        its = "its" if len(inactive_off_sink) == 1 else "their"
        findings.append(
            sentence(
                TOPIC,
                f"inactive, though at most {percent(SINK_THRESHOLD)} of {its} attention is on sink tokens: ",
                *_listed(inactive_off_sink, kind),
                ".",
            )
        )
    return findings


def _on_sink(kind: Kind, on_sink: Sequence[Activity]) -> list[Sentence]:
    """Say how many heads put most of their attention on sink tokens, and which of these are not inactive."""
    active = [head for head in on_sink if not head.inactive]
    single = len(on_sink) == 1
    verb, its = ("puts", "its") if single else ("put", "their")
    start = f"{count(len(on_sink), 'head')}{kind.of_kind} {verb} over {percent(SINK_THRESHOLD)} of {its} attention "
    start += "on a sink token, "
    listed_active = _listed(active, kind, descending=True)
    if not active:
        return [sentence(TOPIC, start, f"and {'it' if single else 'each'} is inactive.")]
    if len(active) == len(on_sink):
        verdict = f"yet {'it is not' if single else 'none is'} inactive: "
        return [sentence(TOPIC, start, verdict, *listed_active, ".")]
    number = len(on_sink) - len(active)
    return [
        sentence(TOPIC, start, f"and {number:,} of them {'is' if number == 1 else 'are'} inactive."),
        sentence(TOPIC, "The others are not inactive: ", *listed_active, ".", goes_on=True),
    ]


def _listed(heads: Sequence[Activity], kind: Kind, *, descending: bool = False) -> list[HeadRef | str]:
    """List heads by their output norm in the layer."""
    ordered = sorted(heads, key=lambda head: (head.relative.value, head.layer, head.head), reverse=descending)
    return listed(numbered(kind.name, head.layer, head.head) for head in ordered)
