"""The three layers of the page: the story, the evidence behind each group of analyses, the appendix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headscope.analyses.for_report import every_part
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import HeadRef, Sentence
from headscope.report_kit.links import linked
from headscope.report_kit.report_parts import GROUPS, Context, Section
from headscope.views.markup import Html, el

_CELL, _STEP = 8, 10
MOST_DRAWN = 512
"""Of a kind with more heads no small grid is drawn: its cells could not be seen."""


@dataclass(frozen=True, kw_only=True)
class GroupParts:
    """A group of analyses on the page.

    Attributes:
        name: in its address.
        title: its heading.
        lead: the sentence that stands for it in the story; None where its analyses support none beyond the findings.
        sections: its evidence.
    """

    name: str
    title: str
    lead: Sentence | None
    sections: Sequence[Section]


def groups_of_page(about: Context, first: Sequence[Sentence]) -> list[GroupParts]:
    """Return the groups that have evidence, in the order of the story; no sentence stands twice.

    Args:
        about: the run, with all its sentences.
        first: the sentences that the story opens with.
    """
    parts_of = {group: [parts for parts in every_part() if parts.group == group] for group in GROUPS}
    leads: dict[str, Sentence] = {}
    for group, every in parts_of.items():
        topics = sorted(
            ((rank, topic) for parts in every for topic, rank in parts.headline.items()),
            key=lambda pair: pair[0],
        )
        left = [
            finding
            for _, topic in topics
            for finding in about.findings
            if finding.topic == topic and finding not in first and not finding.goes_on
        ]
        leads |= {group: left[0]} if left else {}
    used = [*first, *leads.values()]
    rest = replace(about, findings=[finding for finding in about.findings if finding not in used])
    groups = [
        GroupParts(
            name=group,
            title=GROUPS[group],
            lead=leads.get(group),
            sections=[section for parts in every for section in parts.sections(rest)],
        )
        for group, every in parts_of.items()
    ]
    return [group for group in groups if group.lead or group.sections]


def findings_list(about: Context, first: Sequence[Sentence]) -> Html:
    """Return the sentences that the story opens with, each beside a small grid of the heads that it names."""
    return el(
        "ul",
        [
            el("li", linked([finding], tag="p", class_=None), _named_heads(about, finding))
            for finding in first
        ],
        class_="findings",
    )


def group_html(about: Context, group: GroupParts) -> Html:
    """Return a group: its sentence with the heads that it names, and its evidence, folded."""
    lead = None
    if group.lead is not None:
        lead = el("div", linked([group.lead]), _named_heads(about, group.lead), class_="lead")
    evidence = None
    if group.sections:
        names = ", ".join(section.title for section in group.sections)
        evidence = el(
            "details",
            el("summary", el("b", "Evidence"), f": {names}"),
            [section.html for section in group.sections],
            class_="evidence",
        )
    return el("section", el("h2", group.title), lead, evidence, id=f"group-{group.name}", class_="group")


def _named_heads(about: Context, finding: Sentence) -> Html | None:
    """Draw the head grid of the kind that a sentence speaks of, with the heads that it names filled."""
    refs = [part for part in finding.parts if isinstance(part, HeadRef)]
    if not refs:
        return None
    kind = about.kind(refs[0].kind)
    named = {(ref.layer, ref.head) for ref in refs if ref.kind == kind.name}
    return None if kind.size > MOST_DRAWN else _small_grid(kind, named)


def _small_grid(kind: Kind, named: set[tuple[int, int]]) -> Html:
    cells = [
        el(
            "rect",
            x=(head - 1) * _STEP,
            y=(layer - 1) * _STEP,
            width=_CELL,
            height=_CELL,
            rx=1,
            class_="on" if (layer, head) in named else None,
        )
        for layer in range(1, kind.layers + 1)
        for head in range(1, kind.heads_per_layer + 1)
    ]
    # The sentence beside it names these heads, with links.
    return el(
        "svg",
        cells,
        class_="small-grid",
        viewBox=f"0 0 {kind.heads_per_layer * _STEP} {kind.layers * _STEP}",
        aria_hidden="true",
    )
