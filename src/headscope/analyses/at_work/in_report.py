"""What the report shows of the best heads on sentences: figure 5."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.at_work.section import arcs_section, figure_examples
from headscope.figures.arc_diagram import arc_diagram
from headscope.figures.saving import save
from headscope.reporting.kit.parts import Context, Parts, Section, Term

# How heads were chosen that are shown at work, whatever they find.
_TERMS = (
    ("Held-out", "a head is chosen on one half of the documents and scored on the other, both ways, over 20 halvings: "
     "what the choice is worth. The head chosen most often is named, with its own accuracy on all documents. The "
     "paper’s way chooses and scores on all"),
    ("95% interval of a difference", "both numbers are of the same documents, and what they share cancels; so two "
     "numbers can be told apart whose own intervals overlap"),
    ("Random weights", "the same model with weights that were never trained, through the same selection"),
)  # fmt: skip


def _sections(about: Context) -> list[Section]:
    html = arcs_section(about.inputs, about.words, several=about.several, links=about.links)
    return [Section(name="arcs", title="The best heads at work", html=html)]


def _figures(about: Context, folder: Path) -> list[Path]:
    examples = figure_examples(about.inputs)
    if examples is None:
        return []
    rows, titles = examples
    special = (about.words.cls, about.words.sep)
    return [*save(arc_diagram(rows, titles=titles, special=special), folder, "figure-5")]


def _terms(about: Context) -> tuple[Term, ...]:
    given = (about.inputs.dependency_best, about.inputs.coreference)
    return () if all(table is None for table in given) else _TERMS


PARTS = Parts(sections=_sections, figures=_figures, terms=_terms)
