"""The findings of a run: what its numbers say, in words. Each analysis writes its own, beginning at its `in_report.py`.

A sentence that one number differs from another, or that heads have an effect, an order, a rank or clusters, is made
only where that is shown (false discovery rate 5% over all sentences of its kind) and as large as the smallest size of
its unit; `statistics.inference.worth_saying` decides both. In the rules below "shown" means both.

- A head *stands out* at a behavior (previous, next or current token, the first special token, the separator,
  punctuation) when its share is shown to lie above one quarter and above twice what uniform attention gives.
- A head *shows* a behavior, in text or by experiment, by the same rule; "no head shows" it where all were held to it.
  What it shows by where it looks is "not in what it writes" where that does not pass the rule.
- "over half" needs a share that is shown to lie above one half.
- Two numbers measured on the same documents are compared by the interval of their difference, never by whether their
  own intervals overlap: "more" and "less" need it to be shown; else "no difference larger than" its farther end is
  said. "More than any other head" needs it to be shown against the nearest of them.
- "most", "nearest", "least" and a rank need intervals that do not overlap with those of the other heads.
- "attend broadly" needs the entropy to be shown above the share of uniform that the role has, "narrowly focused" below
  half of uniform.
- Choosing a head "beats every fixed offset" where the test on documents that did not choose says so with q < 0.05, and
  the head lies a point above the offset.
- What was not tested is said to be untested, never to be absent.
- The loss depends "less" or "more" on a class of token where the paired difference to other tokens is shown; both
  measures of importance are given, and where they disagree the sentence says so.
- The words that attend in a relation attend to a sink "less" or "more" where the difference to other words is shown.
- Of heads removed together, of what explanations keep, and of estimates of effects something is said where there is an
  effect: all heads together, sets of them, uniform attention, or single heads are shown to cost loss.
- A cluster is named where its stability on resampled documents is 0.75 or more, and its role where heads drawn by
  chance would seldom share it. Heads that are alike, and trees without a cluster that is set apart, have none.
- With fewer than 10 documents there are no intervals: values are stated as measured, a sentence says so, and nothing
  is claimed of ranks, nor of broad or narrow heads.
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
    """Return the sentences, where what a run has was read already."""
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
    """Return the sentences for the first screen: one a topic, then others in order, and that intervals are missing.

    What a reader of the kind of model wants comes first: the explained share where it was measured; of a decoder
    induction, retrieval and sinks; of an encoder positions, syntax, coreference and sinks.
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
