"""What the report shows of coreference."""

from __future__ import annotations

from headscope.analyses.coreference.findings import TOPIC, coreference_findings
from headscope.analyses.coreference.section import coreference_section
from headscope.reporting.kit.parts import Context, Parts, Section, Term
from headscope.reporting.kit.sentences import Sentence

_TERMS = (
    ("Coreference", "a mention counts if an earlier one in its window is of its entity; it is right if the candidate’s "
     "head word with most attention from its own head word is such a one. Nearest: the rightmost candidate; same head "
     "word: the nearest with it; four rules: full string, head word, number, gender and person, any"),
)  # fmt: skip


def _findings(about: Context) -> list[Sentence]:
    return coreference_findings(about.inputs, several=about.several)


def _sections(about: Context) -> list[Section]:
    html = coreference_section(about.inputs, about.found, several=about.several)
    return [Section(name="coreference", title="Coreference", html=html)]


def _terms(about: Context) -> tuple[Term, ...]:
    return _TERMS if about.inputs.coreference is not None else ()


PARTS = Parts(findings=_findings, sections=_sections, terms=_terms, headline={TOPIC: 40})
