"""The findings of a run: sentences supported by its numbers. Each analysis writes its own, from its `in_report.py`.

A sentence that one number differs from another, or that heads have an effect, an order, a rank or clusters, is written
only if it is significant (false discovery rate 5% over all sentences of its kind) and as large as the smallest size of
its unit; `statistics.inference.worth_saying` decides both. In the rules below "shown" means both.

- A head *stands out* at a behavior (previous, next or current token, the first special token, the separator,
  punctuation) if its share is shown to exceed one quarter and twice the share under uniform attention.
- A head *shows* a behavior, in text or by experiment, by the same rule; "no head shows" it if all were tested.
  A behavior seen in attention weights is "not in what it writes" if its norm-weighted share does not pass the rule.
- "over half" needs a share that is shown to exceed one half.
- Two numbers measured on the same documents are compared by the interval of their difference, never by whether their
  own intervals overlap: "more" and "less" need the difference to be shown; otherwise the sentence says "no difference
  larger than" the farther end. "More than any other head" needs it to be shown against the nearest head.
- "most", "nearest", "least" and a rank need intervals that do not overlap with those of the other heads.
- "attend broadly" needs an entropy shown to exceed the role's share of uniform, "narrowly focused" one below half of
  uniform.
- Choosing a head "beats every fixed offset" if the test on held-out documents gives q < 0.05 and the head is a point
  above the offset.
- A test that was not made is reported as untested, never as absent.
- The loss depends "less" or "more" on a class of token if the paired difference to other tokens is shown; both
  measures of importance are given, and the sentence mentions a disagreement.
- The words at the attending end of a relation attend to a sink "less" or "more" if the difference to other words is
  shown.
- Sentences on heads removed together, on predictions from explanations, and on estimated effects need an effect: all
  heads together, sets of them, uniform attention, or single heads are shown to cost loss.
- A cluster is named if its stability on resampled documents is 0.75 or more, and its role if random heads would seldom
  share it. Heads that are similar, and trees without a separate cluster, have none.
- With fewer than 10 documents there are no intervals: values are stated as measured, a sentence says so, and there are
  no claims about ranks or about broad and narrow heads.
"""

from __future__ import annotations

from collections.abc import Sequence

from headscope.analyses.for_report import every_part
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import count
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.once_a_study import once_a_study
from headscope.study.study import Study


def first_findings(run: Study) -> list[str]:
    """Return the sentences of the page's first screen."""
    return [sentence.text for sentence in headline(findings(run))]


@once_a_study
def findings(run: Study) -> list[Sentence]:
    """Return every sentence that the run supports, topic by topic, kind by kind."""
    return all_findings(Context.of(run))


def all_findings(about: Context) -> list[Sentence]:
    """Return the sentences, given a context that was read before."""
    sentences = [finding for parts in every_part() for finding in parts.findings(about)]
    if not any(cell.has_interval for kind in about.kinds for _, _, cell in kind.each("entropy")):
        used = int(about.run.manifest["counts"]["documents_used"])
        sentences.append(
            sentence(
                "intervals",
                f"These values were measured on {count(used, 'document')} and have no intervals: "
                f"an interval needs at least {FEWEST_DOCUMENTS} documents.",
            )
        )
    return sentences


def headline(sentences: Sequence[Sentence], most: int = 4) -> list[Sentence]:
    """Return the sentences for the first screen: one per topic, then others in order, and a note on missing intervals.

    The most interesting topics for the kind of model come first: the explained share if it was measured; for a decoder
    induction, retrieval and sinks; for an encoder positions, syntax, coreference and sinks.
    """
    every = list(every_part())
    ranks = {topic: rank for parts in every for topic, rank in parts.headline.items()}
    if {finding.kind for finding in sentences} - {""} == {"decoder"}:
        ranks |= {topic: rank for parts in every for topic, rank in parts.decoder_headline.items()}
    topics = sorted(ranks, key=lambda topic: ranks[topic])
    alone = [finding for finding in sentences if not finding.goes_on]
    chosen: list[Sentence] = []
    for topic in topics:
        chosen += [finding for finding in alone if finding.topic == topic][:1]
    rest = [finding for topic in topics for finding in alone if finding.topic == topic and finding not in chosen]
    caveat = [finding for finding in sentences if finding.topic == "intervals"]
    return (chosen + rest)[:most] + caveat
