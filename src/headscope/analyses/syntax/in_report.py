"""The part of the report on dependency heads."""

from headscope.analyses.syntax.figures.files import BY_DISTANCE, BY_LAYER
from headscope.analyses.syntax.findings import TOPIC, syntax_findings
from headscope.analyses.syntax.head_functions import ROLE, UNIVERSAL, relation_scores
from headscope.analyses.syntax.section import syntax_section
from headscope.report_kit.report_parts import Parts, corpus_line

TERMS = (
    ("Dependency relations", "a word’s attention is that of its pieces: the sum to them, the mean from them. Dependent "
     "→ head word is right when the head word is the other word that the dependent attends to most; head word → "
     "dependent when it is the other word that attends to the dependent most. Both count dependents; the leftmost wins "
     "a tie. Relations with 100 cases or more are listed"),
    ("Best offset", "always pointing the same number of words away, from −5 to +5; a place outside the sentence is "
     "wrong"),
    ("q", "documents come in a random order, each judged by the head that is best on those before it; one-sided test "
     "that this is right more often than every fixed offset, twice the median over 20 orders, Benjamini–Hochberg over "
     "relations. With fewer than 10 documents nothing is tested"),
    ("Finds a relation", "a head finds the relations for which it is selected where that beats every offset, q < 0.05"),
)  # fmt: skip

PARTS = Parts(
    group="syntax",
    findings=syntax_findings,
    sections=syntax_section,
    figures=(BY_LAYER, BY_DISTANCE),
    terms=TERMS,
    explained=("syntax_best",),
    headline={TOPIC: 30},
    read=lambda manifest: corpus_line(manifest.get("treebank"), "sentence"),
    functions=relation_scores,
    known_functions=UNIVERSAL,
    arcs="syntax_examples",
    role=ROLE,
    needed={"relations": ("syntax", "give the run a --treebank")},
)
