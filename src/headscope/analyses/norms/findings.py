"""Findings on which heads are inactive, and whether attention to sink tokens alone would have told them."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.analyses.norms.accumulator import INACTIVE_BELOW
from headscope.analyses.norms.activity import SINK_THRESHOLD, Activity, activities
from headscope.reporting.kit.claim_rules import WHERE
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.reporting.kit.numbers import percent
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import count

TOPIC = "norms"


def norm_findings(about: Context) -> list[Sentence]:
    """Say which heads are inactive, and for which heads attention to the sink and output length disagree."""
    table = about.run.table("norms")
    if table is None:
        return []
    return [
        finding
        for kind in about.kinds
        for finding in _of_kind(kind, activities(table, kind), several=about.several)
    ]


def _of_kind(kind: Kind, heads: Sequence[Activity], *, several: bool) -> list[Sentence]:
    if not heads:
        return []
    of = f" of {WHERE[kind.name]}" if several else ""
    tested = [head for head in heads if head.inactive is not None]
    if not tested:
        return [
            Sentence(
                TOPIC,
                (
                    f"Which heads{of} rest was not tested: the interval of a head’s output needs at least 10 "
                    "documents.",
                ),
                kind.name,
            )
        ]
    inactive = [head for head in tested if head.inactive]
    on_sink = [head for head in tested if head.attends_to_sink]
    active_on_sink = [head for head in on_sink if not head.inactive]
    inactive_off_sink = [head for head in inactive if not head.attends_to_sink]
    share = percent(INACTIVE_BELOW)
    findings = []
    if inactive:
        findings.append(
            sentence(
                TOPIC,
                f"{count(len(inactive), 'head')} of {len(tested):,}{of} {'rests' if len(inactive) == 1 else 'rest'}, "
                f"with an output shorter than {share} of that of the layer’s mean head (false discovery rate 5%): ",
                *listed(numbered(kind.name, head.layer, head.head) for head in _least(inactive)),
                ".",
            )
        )
    else:
        findings.append(
            sentence(
                TOPIC,
                f"no head of {len(tested):,}{of} is shown to rest: none has an output shorter than {share} of that of "
                "the layer’s mean head, the whole interval, at a false discovery rate of 5%.",
            )
        )
    if on_sink:
        only = len(on_sink) == 1
        start = f"{count(len(on_sink), 'head')}{of} {'puts' if only else 'put'} more than {percent(SINK_THRESHOLD)} of "
        start += (
            f"{'its' if only else 'their'} weight, as measured, on the first token, a separator or a learned "
        )
        start += "sink; "
        if not active_on_sink:
            findings.append(sentence(TOPIC, start, f"{'it rests' if only else 'all of them rest'}."))
        else:
            part = f"{len(active_on_sink):,} of them {'is' if len(active_on_sink) == 1 else 'are'} not"
            verdict = (
                "it is not" if only else "none of them is" if len(active_on_sink) == len(on_sink) else part
            )
            findings.append(
                sentence(
                    TOPIC,
                    start,
                    f"{verdict} shown to rest: ",
                    *listed(
                        numbered(kind.name, head.layer, head.head)
                        for head in reversed(_least(active_on_sink))
                    ),
                    ".",
                )
            )
    if inactive_off_sink:
        findings.append(
            sentence(
                TOPIC,
                "resting without a sink: ",
                *listed(numbered(kind.name, head.layer, head.head) for head in _least(inactive_off_sink)),
                f", which {'puts' if len(inactive_off_sink) == 1 else 'put'} at most {percent(SINK_THRESHOLD)} of "
                f"{'its' if len(inactive_off_sink) == 1 else 'their'} weight there.",
            )
        )
    return [Sentence(finding.topic, finding.parts, kind.name) for finding in findings]


def _least(heads: Sequence[Activity]) -> list[Activity]:
    """Sort heads, those that write least first."""
    return sorted(heads, key=lambda head: (head.relative.value, head.layer, head.head))
