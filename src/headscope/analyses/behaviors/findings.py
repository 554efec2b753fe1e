"""Findings on behaviors, in text or in experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headscope.analyses.behaviors.chosen import BehaviorHead
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, continued, listed, numbered, sentence
from headscope.report_kit.numbers import accuracy_words
from headscope.report_kit.small_figures import Shades
from headscope.report_kit.words import count, either, join
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS


def behavior_sentences(chosen: Sequence[BehaviorHead], kind: Kind, topic: str, *, where: str) -> Iterator[Sentence]:
    """Yield sentences on the head for each behavior, on behaviors that no head shows, and on untested behaviors.

    The rule, uniform attention and random weights are in the table below the sentences.

    Args:
        chosen: chosen heads of one kind of attention.
        kind: kind of attention of the heads.
        topic: topic of the sentences.
        where: text or experiment, in words: `in text`.
    """
    yield from (_of_head(head, kind, topic, where=where) for head in chosen if head.heads)
    if absent := [head.behavior.name for head in chosen if head.tested and not head.heads]:
        yield sentence(topic, f"no {kind.noun} shows {either(absent)} {where}.", figure=Shades())
    if untested := [head.behavior.name for head in chosen if not head.tested]:
        of = f" of {kind.noun}s" if kind.prefix else ""
        why = f"which needs at least {FEWEST_DOCUMENTS} documents"
        yield sentence(topic, f"not tested{of} {where}, {why}: {join(untested)}.")


def norm_sentence(chosen: Sequence[BehaviorHead], kind: Kind, topic: str, *, where: str) -> Iterator[Sentence]:
    """Yield a sentence on the number of behaviors seen by weight but not by norm; none where norms are not known.

    Args:
        chosen, kind, topic, where: the same as for `behavior_sentences`.
    """
    known = [head for head in chosen if head.by_norm is not None and head.heads]
    if not known:
        return
    number, total = sum(len(head.not_by_norm) for head in known), sum(len(head.heads) for head in known)
    in_weights, in_norms = f"seen in {kind.prefix}attention weights", "seen in norm-weighted attention"
    showing = kind.shaded({head: 1 for each in known for head in each.heads})
    if not number:
        yield sentence(topic, f"{where}, all behaviors {in_weights} are also {in_norms}.", figure=showing)
        return
    verb = "is" if number == 1 else "are"
    whole = f"{number:,} of {count(total, 'behavior')} {in_weights}"
    yield sentence(topic, f"{where}, {whole} {verb} not {in_norms}.", figure=showing)
    most = max(known, key=lambda head: len(head.not_by_norm))
    often = "" if number == len(most.not_by_norm) else "most often "
    heads = f"{len(most.not_by_norm):,} of {count(len(most.heads), kind.noun)}"
    refs = (numbered(most.kind, layer, head) for layer, head in most.not_by_norm)
    yield continued(topic, f"{often}it is “{most.behavior.label}”, in {heads}: ", *listed(refs), ".")


def _of_head(chosen: BehaviorHead, kind: Kind, topic: str, *, where: str) -> Sentence:
    """Return a sentence on the chosen head's attention to the behavior's keys; the table has its baselines."""
    behavior, value = chosen.behavior, accuracy_words(chosen.estimate, long=True)
    head = kind.head(chosen.layer, chosen.head)
    on_tokens = f"{value} of tokens attend most to {behavior.on}"
    if behavior.term and (chosen.layer, chosen.head) in chosen.heads:
        statement = on_tokens if behavior.counts_tokens else f"{value} of its attention goes to {behavior.on}"
        return sentence(topic, head, f" shows {behavior.term} {where}: {statement}.")
    if behavior.counts_tokens:
        return sentence(topic, f"{where}, {on_tokens} in ", head, ".")
    return sentence(topic, f"{where}, ", head, f" puts {value} of its attention on {behavior.on}.")
