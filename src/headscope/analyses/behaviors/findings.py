"""Findings on behaviors, for whichever text they were measured on."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from headscope.analyses.behaviors.chosen import BehaviorHead
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import accuracy_words, percent
from headscope.report_kit.words import count, either
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS


def behavior_sentences(
    chosen: Sequence[BehaviorHead], kind: Kind, topic: str, *, where: str
) -> list[Sentence]:
    """Say which head shows each behavior, which behaviors no head shows, and which were not tested.

    Args:
        chosen: of one kind of attention.
        kind: theirs.
        topic: of the sentences.
        where: begins them where they need it: `in text`.
    """
    out = [_of_head(head, kind, topic, where=where) for head in chosen if head.heads]
    absent = [head.behavior.name for head in chosen if head.tested and not head.heads]
    if absent:
        out.append(
            sentence(
                topic,
                f"no {kind.noun} shows {either(absent)} {where}: none passes the threshold (over a quarter and over "
                "twice uniform attention, whole 95% interval, false discovery rate 5%).",
            )
        )
    untested = [head.behavior.name for head in chosen if not head.tested]
    if untested:
        out.append(
            sentence(
                topic,
                f"whether a {kind.noun} shows {either(untested)} {where} was not tested, which needs at least "
                f"{FEWEST_DOCUMENTS} documents.",
            )
        )
    return out


def norm_sentence(chosen: Sequence[BehaviorHead], kind: Kind, topic: str, *, where: str) -> list[Sentence]:
    """Say how many behaviors heads show by weight but not by norm-weighted attention; nothing where that is not known.

    Args:
        chosen, kind, topic, where: as `behavior_sentences` takes them.
    """
    known = [head for head in chosen if head.by_norm is not None and head.heads]
    if not known:
        return []
    number, total = sum(len(head.not_by_norm) for head in known), sum(len(head.heads) for head in known)
    if not number:
        return [sentence(topic, f"{where}, {kind.noun}s write of what they show by where they look.")]
    most = max(known, key=lambda head: len(head.not_by_norm))
    verb = "is" if number == 1 else "are"
    often = "" if number == len(most.not_by_norm) else "most often "
    return [
        sentence(
            topic,
            f"{where}, {number:,} of {count(total, 'behavior')} that {kind.noun}s show by where they look {verb} not "
            "in what they write (each weight times the length of what is written of its token): "
            f"{often}{most.behavior.label}, with {len(most.not_by_norm):,} of {len(most.heads):,}, ",
            *listed(numbered(most.kind, layer, head) for layer, head in most.not_by_norm),
            ".",
        )
    ]


def _of_head(chosen: BehaviorHead, kind: Kind, topic: str, *, where: str) -> Sentence:
    chance = (
        ""
        if chosen.control is None
        else f", and a head chosen in the same way with random weights {percent(chosen.control.mean)}"
    )
    number = count(chosen.n_heads, kind.noun)
    verb = "shows" if len(chosen.heads) == 1 else "show"
    value, uniform = accuracy_words(chosen.estimate, long=True), percent(chosen.estimate.uniform)
    ending = f"{chance}; {len(chosen.heads):,} of {number} {verb} it (false discovery rate 5%)."
    cross_fitted = ", on documents that did not choose it" if not isnan(chosen.share) else ""
    if chosen.behavior.counts_tokens:
        statement = f"attends most to {chosen.behavior.on} at {value} of the tokens{cross_fitted}"
        statement += ", where a random key would be right at"
    else:
        statement = f"puts {value} of its attention on {chosen.behavior.on}{cross_fitted}"
        statement += ", where uniform attention would put"
    return sentence(
        topic, f"{where}, ", kind.head(chosen.layer, chosen.head), f" {statement} {uniform}{ending}"
    )
