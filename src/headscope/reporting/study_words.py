"""Words of a study, for Python: the findings and the head cards, as on the pages."""

from __future__ import annotations

from collections.abc import Callable

from headscope.attention.head_id import HeadId, head_anchor
from headscope.reporting.card_sentences import sentences_block
from headscope.reporting.every_finding import findings
from headscope.reporting.head_summary import head_summaries
from headscope.reporting.study_card import study_card
from headscope.study.study import Study
from headscope.study.study_words import Findings, HeadCard, HeadExample, StudyWords

_ATLAS = "atlas/index.html"


def study_findings(study: Study) -> Findings:
    """Return every sentence that a study supports, in the order of the report.

    Raises:
        InputError: a file of the run is missing, or has changed since the run wrote it.
    """
    return Findings(sentence.text for sentence in findings(study)) if "stats" in study.tables else Findings()


def head_cards(study: Study) -> Callable[[HeadId], HeadCard]:
    """Return a function that builds the card of a head; data shared by all heads is read once."""
    summaries = head_summaries(study)
    sentences = sentences_block(study)
    width = {part["kind"]: part["heads"] for part in study.manifest["kinds"]}
    roles = study.roles.set_index(["kind", "layer", "head"])["role"]
    atlas = study.path / _ATLAS

    def card(head: HeadId) -> HeadCard:
        layer, number = head.position
        entries = sentences[head.kind].get(layer * width[head.kind] + number, [])
        key = (head.kind, head.layer, head.head)
        anchor = head_anchor(head.kind, head.layer, head.head)
        return HeadCard(
            id=head,
            summary=summaries[key].text,
            examples=tuple(HeadExample(str(each["label"]), each["outcome"], str(each["text"])) for each in entries),
            role=str(roles[key]),
            address=f"{atlas.resolve().as_uri()}#{anchor}" if atlas.is_file() else "",
        )

    return card


def summary_lines(study: Study) -> dict[tuple[str, int, int], str]:
    """Return the first line of each head's card, by (kind, layer, head)."""
    return {head: summary.text for head, summary in head_summaries(study).items()}


STUDY_WORDS = StudyWords(card=study_card, findings=study_findings, head_cards=head_cards, summaries=summary_lines)
