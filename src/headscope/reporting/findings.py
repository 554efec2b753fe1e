"""What the numbers say, in words. A sentence is made only where the intervals support its claim.

The rules, which the report prints:

- A head *stands out* at a behaviour (previous, next or current token, the first special token, the separator,
  punctuation) when the lower end of its interval is above one quarter and above twice what uniform attention gives.
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

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from headscope.reporting.arrays import Kind, kinds_of
from headscope.reporting.coreference_findings import coreference_findings
from headscope.reporting.distances_findings import distances_findings
from headscope.reporting.importance_findings import importance_findings
from headscope.reporting.inputs import ReportInputs
from headscope.reporting.probe_findings import probe_findings
from headscope.reporting.rules import BEHAVIOURS, stands_out
from headscope.reporting.sentences import Sentence, sentence
from headscope.reporting.shares import nothing, position, special
from headscope.reporting.spread import focus, noop
from headscope.reporting.syntax_findings import syntax_findings
from headscope.reporting.words import FEWEST_DOCUMENTS, ROLES, Words, count, words_for

HEADLINE_ORDER = (
    "none",
    "position",
    "syntax",
    "coreference",
    "probes",
    "special",
    "importance",
    "distances",
    "focus",
    "noop",
    "roles",
)


def findings(inputs: ReportInputs) -> list[Sentence]:
    """Return every sentence that the run supports, topic by topic, kind by kind."""
    words, kinds = words_for(inputs.manifest), kinds_of(inputs)
    several = len(kinds) > 1
    gaps = inputs.surface_differences
    found: list[Sentence] = []
    none_stands_out = not any(
        stands_out(cell) for kind in kinds for name in BEHAVIOURS for _, _, cell in kind.each(name)
    )
    if none_stands_out:
        found.append(nothing(kinds, words, several))
    for kind in kinds:
        own = [
            *position(kind, words, gaps, several),
            *special(kind, words, several),
            *noop(kind, words, gaps, several),
            *focus(kind, words, gaps, several, none_stands_out=none_stands_out),
            _roles(kind, words, several),
        ]
        found += [replace(one, kind=kind.name) for one in own]
    found += importance_findings(inputs, kinds, words)
    found += syntax_findings(inputs, words, several=several)
    found += coreference_findings(inputs, several=several)
    found += probe_findings(inputs, several=several)
    found += distances_findings(inputs, words, several=several)
    if not any(
        cell.has_interval for kind in kinds for name in ("entropy",) for _, _, cell in kind.each(name)
    ):
        used = int(inputs.manifest["counts"]["documents_used"])
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
    chosen: list[Sentence] = []
    for topic in HEADLINE_ORDER:
        chosen += [one for one in found if one.topic == topic][:1]
    rest = [one for topic in HEADLINE_ORDER for one in found if one.topic == topic and one not in chosen]
    caveat = [one for one in found if one.topic == "intervals"]
    return (chosen + rest)[:most] + caveat


def _roles(kind: Kind, words: Words, several: bool) -> Sentence:
    counts = Counter(kind.roles)
    names = {
        "previous": "mostly on the previous token", "next": "mostly on the next token", "cls": f"mostly on {words.cls}",
        "sep": f"mostly on {words.sep}", "punctuation": "mostly on periods and commas", "broad": "broad",
        "mixed": "mixed",
    }  # fmt: skip
    parts = [f"{counts[role]:,} {names[role]}" for role in ROLES if counts[role]]
    whose = f"{kind.name} heads" if several else "heads"
    return sentence(
        "roles", f"of {count(kind.size, whose[:-1])}, by the thresholds on the averages: {'; '.join(parts)}."
    )
