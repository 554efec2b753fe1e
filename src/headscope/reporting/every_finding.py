"""The findings, figures and terms of all analyses together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headscope.analyses.for_report import drawings_of, every_part
from headscope.figures.paper import on_paper
from headscope.figures.saving import save
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.report_parts import Context, Parts, Term
from headscope.report_kit.words import count
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.study import Study
from headscope.study.study_words import once_a_study


def write_figures(
    about: Context, folder: Path, *, width: float | None = None, font: str = "", forms: Sequence[str] = ("svg",)
) -> list[Path]:
    """Write every analysis's figures, if there is something to draw, and return their files' paths.

    Args:
        about: the run.
        folder: folder for the files.
        width: width of every figure in inches, for a paper; by default each figure has its own.
        font: typeface of their text; by default that of pages.
        forms: formats, among `svg`, `png` and `pdf`; a page needs only the first, and each takes time.
    """
    paths: list[Path] = []
    with on_paper(width, font=font):
        for file, draw in drawings_of(about).items():
            paths += save(draw(), folder, file, forms=forms)
    return sorted(paths)


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
