"""What the numbers say, in words. A sentence is made only where the intervals support its claim.

The rules, which the report prints:

- A head *stands out* at a behavior (previous, next or current token, the first special token, the separator,
  punctuation) when the lower end of its interval is above one quarter and above twice what uniform attention gives.
- A head *shows* a behavior, in text or by experiment, by the same rule; "no head shows" it where all were held to it.
  What it shows by where it looks is "not in what it writes" where that does not pass the rule.
- "more than half" needs the lower end above one half.
- Two numbers measured on the same documents are compared by the interval of their difference, never by whether their
  own intervals overlap: "more" and "less" need it on one side of 0; else "no difference larger than" its farther end is
  said. "More than any other head" needs it above 0 against each of them.
- "attend broadly" needs the whole interval of the entropy above the share of uniform that the role has, "narrowly
  focused" below half of uniform.
- Choosing a head "beats every fixed offset" where the test on documents that did not choose says so with q < 0.05.
- What was not tested is said to be untested, never to be absent.
- The loss depends "less" or "more" on a class of token where the interval of its paired difference to other tokens lies
  on one side; both measures of importance are given, and where they disagree the sentence says so.
- The words that attend in a relation rest "less" or "more" where the interval of their difference to all other words
  lies on one side.
- A cluster is named where its stability on resampled documents is 0.75 or more.
- With fewer than 10 documents there are no intervals: values are stated as measured, a sentence says so, and nothing
  is claimed of ranks, nor of broad or narrow heads.
"""

from __future__ import annotations

from collections.abc import Sequence

from headscope.analyses.for_report import every_part
from headscope.reporting.kit.linked_sentences import Sentence, sentence
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import count
from headscope.statistics.confidence import FEWEST_DOCUMENTS


def findings(run: Measured) -> list[Sentence]:
    """Return every sentence that the run supports, topic by topic, kind by kind."""
    return found_of(Context.of(run))


def found_of(about: Context) -> list[Sentence]:
    """Return the sentences, where what a run has was read already."""
    found = [one for parts in every_part() for one in parts.findings(about)]
    if not any(cell.has_interval for kind in about.kinds for _, _, cell in kind.each("entropy")):
        used = int(about.run.manifest["counts"]["documents_used"])
        found.append(
            sentence(
                "intervals",
                f"These values were measured on {count(used, 'document')} and have no intervals: "
                f"an interval needs at least {FEWEST_DOCUMENTS} documents.",
            )
        )
    return found


def headline(found: Sequence[Sentence], most: int = 3) -> list[Sentence]:
    """Return the sentences for the first screen: one a topic, then others in order, and that intervals are missing."""
    places = {topic: place for parts in every_part() for topic, place in parts.headline.items()}
    topics = sorted(places, key=lambda topic: places[topic])
    chosen: list[Sentence] = []
    for topic in topics:
        chosen += [one for one in found if one.topic == topic][:1]
    rest = [one for topic in topics for one in found if one.topic == topic and one not in chosen]
    caveat = [one for one in found if one.topic == "intervals"]
    return (chosen + rest)[:most] + caveat
