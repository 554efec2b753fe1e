"""What the report shows of dependency heads."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.dependency.figures.distance_curves import distance_curves
from headscope.analyses.dependency.figures.relation_layers import best_by_layer, relation_layers
from headscope.analyses.dependency.findings import TOPIC, syntax_findings
from headscope.analyses.dependency.heat import best_offsets, heat_name, kept_relations
from headscope.analyses.dependency.relations import relations_of
from headscope.analyses.dependency.section import curve_relations, syntax_section
from headscope.figures.saving import save
from headscope.reporting.kit.parts import Context, Parts, Section, Term
from headscope.reporting.kit.sentences import Sentence

_TERMS = (
    ("Dependency relations", "a word’s attention is that of its pieces: the sum to them, the mean from them. Dependent "
     "→ head word is right when the head word is the other word that the dependent attends to most; head word → "
     "dependent when it is the other word that attends to the dependent most. Both count dependents; the leftmost wins "
     "a tie. Relations with 100 cases or more are listed"),
    ("Best offset", "always pointing the same number of words away, from −5 to +5; a place outside the sentence is "
     "wrong"),
    ("q", "documents come in a random order, each judged by the head that is best on those before it; one-sided test "
     "that this is right more often than every fixed offset, twice the median over 20 orders, Benjamini–Hochberg over "
     "relations. With fewer than 10 documents nothing is tested"),
    ("Finds", "a head finds the relations for which it is chosen and whose choice beats every offset with q < 0.05"),
)  # fmt: skip


def _findings(about: Context) -> list[Sentence]:
    return syntax_findings(about.inputs, about.words, several=about.several)


def _sections(about: Context) -> list[Section]:
    html = syntax_section(about.inputs, about.kinds, about.words, about.found, links=about.links)
    return [Section(name="syntax", title="Dependency relations", html=html)]


def _figures(about: Context, folder: Path) -> list[Path]:
    inputs, relations = about.inputs, relations_of(about.inputs)
    paths: list[Path] = []
    if inputs.dependency is not None:
        offsets = best_offsets(inputs)
        for place, kind in enumerate(about.kinds):
            names = kept_relations(relations, best_by_layer(inputs.dependency, offsets, kind=kind.name))
            if names:
                figure = relation_layers(inputs.dependency, offsets, kind=kind.name, relations=names)
                paths += save(figure, folder, heat_name(kind.name, first=place == 0))
    names = curve_relations(relations, inputs)
    if inputs.dependency_by_distance is not None and names:
        figure = distance_curves(inputs.dependency_by_distance, relations=names)
        paths += save(figure, folder, "accuracy-by-distance")
    return paths


def _terms(about: Context) -> tuple[Term, ...]:
    return _TERMS if about.inputs.dependency_best is not None else ()


PARTS = Parts(findings=_findings, sections=_sections, figures=_figures, terms=_terms, headline={TOPIC: 30})
