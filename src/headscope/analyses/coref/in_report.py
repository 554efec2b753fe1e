"""The part of the report on coreference."""

from headscope.analyses.coref.findings import TOPIC, coreference_findings
from headscope.analyses.coref.head_functions import ANTECEDENT, antecedent_scores
from headscope.analyses.coref.section import coreference_section
from headscope.report_kit.relation_names import COREFERENCE
from headscope.report_kit.report_parts import Parts, corpus_line

TERMS = (
    ("Coreference", "a mention counts if an earlier one in its window is of its entity; it is right if the candidate’s "
     "head word with most attention from its own head word is such a one. Nearest: the rightmost candidate; same head "
     "word: the nearest with it; four rules: full string, head word, number, gender and person, any"),
)  # fmt: skip

PARTS = Parts(
    group="syntax",
    findings=coreference_findings,
    sections=coreference_section,
    terms=TERMS,
    explained=("coref",),
    headline={TOPIC: 40},
    read=lambda manifest: corpus_line(manifest.get("coreference"), "window"),
    functions=antecedent_scores,
    known_functions=(ANTECEDENT,),
    arcs="coref_examples",
    role=COREFERENCE,
    needed={"coreference": ("coref_heads", "give the run a --coref")},
)
