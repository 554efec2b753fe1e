"""What the report shows of surface statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from headscope.analyses.surface.section import plans, roles_section, section
from headscope.analyses.surface.shares import BEHAVIOURS, nothing, position, special
from headscope.analyses.surface.spread import focus, noop
from headscope.figures.entropy import entropy_by_layer
from headscope.figures.line_diagram import line_diagram
from headscope.figures.saving import save
from headscope.figures.surface_points import surface_points
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.parts import Context, Parts, Section
from headscope.reporting.kit.rules import stands_out
from headscope.reporting.kit.sentences import Sentence, sentence
from headscope.reporting.kit.words import Words, count
from headscope.statistics.role_catalogue import ROLES, SHOWN


def _findings(about: Context) -> list[Sentence]:
    several, words, gaps = about.several, about.words, about.inputs.surface_differences
    found: list[Sentence] = []
    none_stands_out = not any(
        stands_out(cell) for kind in about.kinds for name in BEHAVIOURS for _, _, cell in kind.each(name)
    )
    if none_stands_out:
        found.append(nothing(about.kinds, words, several))
    for kind in about.kinds:
        own = [
            *position(kind, words, gaps, several),
            *special(kind, words, several),
            *noop(kind, words, gaps, several),
            *focus(kind, words, gaps, several, none_stands_out=none_stands_out),
            _roles(kind, words, several),
        ]
        found += [replace(one, kind=kind.name) for one in own]
    return found


def _roles(kind: Kind, words: Words, several: bool) -> Sentence:
    counts = Counter(kind.roles)
    parts = [f"{counts[role]:,} {words.fill(ROLES[role].of_heads)}" for role in SHOWN if counts[role]]
    whose = f"{kind.name} heads" if several else "heads"
    return sentence(
        "roles", f"of {count(kind.size, whose[:-1])}, by the thresholds on the averages: {'; '.join(parts)}."
    )


def _sections(about: Context) -> list[Section]:
    given = (about.inputs, about.kinds, about.words, about.found)
    made: list[Section] = []
    for plan in plans(about.words):
        explain = not any(one.html is not None for one in made)
        html = section(plan, *given, explain=explain, links=about.links)
        made.append(Section(name=plan.name, title=plan.title, html=html))
    roles = roles_section(*given, links=about.links)
    return [*made, Section(name="roles", title="Roles and examples", html=roles)]


def _figures(about: Context, folder: Path) -> list[Path]:
    inputs, words = about.inputs, about.words
    paths = [*save(surface_points(inputs.surface, names=words.statistics), folder, "figure-2")]
    entropy = entropy_by_layer(inputs.surface, roles=inputs.roles, names=words.statistics)
    paths += save(entropy, folder, "figure-4")
    examples = inputs.examples[inputs.examples["behaviour"] != "shared"]
    if len(examples):
        paths += save(line_diagram(examples, labels=words.roles), folder, "figure-1")
    return paths


PARTS = Parts(
    findings=_findings,
    sections=_sections,
    figures=_figures,
    headline={"none": 10, "position": 20, "special": 60, "focus": 90, "noop": 100, "roles": 110},
)
