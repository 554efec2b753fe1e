"""The findings of all analyses, the choice of the first ones (headlines), and the story and evidence of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headscope.analyses.for_report import every_part
from headscope.present.linked_sentences import MOST_DRAWN, Bars, HeadRef, Sentence, Shades, bars, grid, sentence
from headscope.present.report_parts import GROUPS, Context, Parts, Section, Term, linked
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.present.words import count
from headscope.reporting.provenance import term_address
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.views.markup import Html, el, raw


def more_terms(about: Context) -> tuple[Term, ...]:
    """Return the terms that a run's further sections need."""
    return tuple(term for parts in every_part() for term in terms_of(about, parts))


def terms_of(about: Context, parts: Parts) -> Sequence[Term]:
    """Return the terms of an analysis; empty if the run has none of the tables that they explain."""
    if all(about.run.tables.get(name) is None for name in parts.explained):
        return ()
    return parts.terms(about) if callable(parts.terms) else parts.terms


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


@dataclass(frozen=True, kw_only=True)
class GroupParts:
    """A group of analyses on the page.

    Attributes:
        name: name in the group's address.
        title: its heading.
        lead: its sentence in the story; None if its analyses support no sentence beyond the findings.
        sections: its evidence.
    """

    name: str
    title: str
    lead: Sentence | None
    sections: Sequence[Section]


def leads_of_groups(about: Context, first: Sequence[Sentence]) -> dict[str, Sentence]:
    """Return the lead sentence of each group that has a sentence besides those at the start of the story.

    Args:
        about: the run, with all its sentences.
        first: the sentences at the start of the story.
    """
    left = [finding for finding in about.findings if finding not in first and not finding.goes_on]
    leads: dict[str, Sentence] = {}
    for group in GROUPS:
        ranks = [each for parts in every_part() if parts.group == group for each in parts.headline.items()]
        topics = [topic for topic, _ in sorted(ranks, key=lambda pair: pair[1])]
        of_group = [finding for topic in topics for finding in left if finding.topic == topic]
        leads |= {group: of_group[0]} if of_group else {}
    return leads


def groups_of_page(about: Context, first: Sequence[Sentence]) -> list[GroupParts]:
    """Return the groups that have evidence, in the order of the story; no sentence appears twice.

    Args:
        about: the run, with all its sentences.
        first: the sentences at the start of the story.
    """
    leads = leads_of_groups(about, first)
    used = [*first, *leads.values()]
    rest = replace(about, findings=[finding for finding in about.findings if finding not in used])
    groups = [
        GroupParts(
            name=group,
            title=GROUPS[group],
            lead=leads.get(group),
            sections=[
                explained(section, terms_of(rest, parts))
                for parts in every_part()
                if parts.group == group
                for section in parts.sections(rest)
            ],
        )
        for group in GROUPS
    ]
    return [group for group in groups if group.lead or group.sections]


def explained(section: Section, terms: Sequence[Term]) -> Section:
    """Return a section whose heading links to the definitions of its numbers, the first of its analysis."""
    address = term_address(terms[0][0]) if terms else "glossary"
    return replace(section, html=section.html.replace(raw("</h2>"), meaning(address) + raw("</h2>"), 1))


def meaning(address: str) -> Html:
    """Return the link from a heading to the definition of its numbers, at an address of the page."""
    return el("a", "what these numbers are", href=f"#{address}", class_="meaning")


def findings_list(about: Context, first: Sequence[Sentence]) -> Html:
    """Return the sentences at the start of the story, each with its small figure."""
    return el(
        "ul",
        [el("li", linked([finding], tag="p", class_=None), small_figure(about, finding)) for finding in first],
        class_="findings",
    )


def group_html(about: Context, group: GroupParts) -> Html:
    """Return a group: its sentence with its small figure, and its evidence, folded."""
    lead = None
    if group.lead is not None:
        lead = el("div", linked([group.lead]), small_figure(about, group.lead), class_="lead")
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


def small_figure(about: Context, finding: Sentence) -> Html | None:
    """Draw the figure of a sentence: its bars, or the grid of its kind with the heads that it names or is about.

    Returns:
        None if it has neither, or if the kind has too many heads for a grid.
    """
    if isinstance(finding.figure, Bars):
        return bars(finding.figure)
    refs = [part for part in finding.parts if isinstance(part, HeadRef)]
    if not refs and finding.figure is None:
        return None
    kind = about.kind(refs[0].kind if refs else finding.kind or about.kinds[0].name)
    if kind.size > MOST_DRAWN:
        return None
    amounts = finding.figure.amounts if isinstance(finding.figure, Shades) else ()
    named = [(ref.layer, ref.head) for ref in refs if ref.kind == kind.name]
    return grid(kind.layers, kind.heads_per_layer, amounts, named)
