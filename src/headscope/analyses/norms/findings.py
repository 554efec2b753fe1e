"""Sentences on which heads write little, and which of them weights alone would have called resting."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.analyses.norms.accumulator import RESTING
from headscope.analyses.norms.activity import ON_SINK, Activity, activities
from headscope.reporting.kit.claim_rules import WHERE
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.reporting.kit.numbers import percent
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import count

TOPIC = "norms"


def norm_findings(about: Context) -> list[Sentence]:
    """Say which heads rest, and on which heads the weight on the sink and the length of the output disagree."""
    table = about.run.table("norms")
    if table is None:
        return []
    return [
        made
        for kind in about.kinds
        for made in _of_kind(kind, activities(table, kind), several=about.several)
    ]


def _of_kind(kind: Kind, heads: Sequence[Activity], *, several: bool) -> list[Sentence]:
    if not heads:
        return []
    of = f" of {WHERE[kind.name]}" if several else ""
    tested = [one for one in heads if one.rests is not None]
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
    resting = [one for one in tested if one.rests]
    seated = [one for one in tested if one.sinks]
    awake = [one for one in seated if not one.rests]
    silent = [one for one in resting if not one.sinks]
    share = percent(RESTING)
    made = []
    if resting:
        made.append(
            sentence(
                TOPIC,
                f"{count(len(resting), 'head')} of {len(tested):,}{of} {'rests' if len(resting) == 1 else 'rest'}, "
                f"with an output shorter than {share} of that of the layer’s mean head (false discovery rate 5%): ",
                *listed(numbered(kind.name, one.layer, one.head) for one in _least(resting)),
                ".",
            )
        )
    else:
        made.append(
            sentence(
                TOPIC,
                f"no head of {len(tested):,}{of} is shown to rest: none has an output shorter than {share} of that of "
                "the layer’s mean head, the whole interval, at a false discovery rate of 5%.",
            )
        )
    if seated:
        only = len(seated) == 1
        on = f"{count(len(seated), 'head')}{of} {'puts' if only else 'put'} more than {percent(ON_SINK)} of "
        on += f"{'its' if only else 'their'} weight, as measured, on the first token, a separator or a learned sink; "
        if not awake:
            made.append(sentence(TOPIC, on, f"{'it rests' if only else 'all of them rest'}."))
        else:
            few = f"{len(awake):,} of them {'is' if len(awake) == 1 else 'are'} not"
            many = "it is not" if only else "none of them is" if len(awake) == len(seated) else few
            made.append(
                sentence(
                    TOPIC,
                    on,
                    f"{many} shown to rest: ",
                    *listed(numbered(kind.name, one.layer, one.head) for one in reversed(_least(awake))),
                    ".",
                )
            )
    if silent:
        made.append(
            sentence(
                TOPIC,
                "resting without a sink: ",
                *listed(numbered(kind.name, one.layer, one.head) for one in _least(silent)),
                f", which {'puts' if len(silent) == 1 else 'put'} at most {percent(ON_SINK)} of "
                f"{'its' if len(silent) == 1 else 'their'} weight there.",
            )
        )
    return [Sentence(each.topic, each.parts, kind.name) for each in made]


def _least(heads: Sequence[Activity]) -> list[Activity]:
    """Sort heads, those that write least first."""
    return sorted(heads, key=lambda one: (one.relative.value, one.layer, one.head))
