"""The terms of the sections beyond the surface, for the list of definitions."""

from __future__ import annotations

from headscope.analyses.distances.accumulator import DIVERGENCE_GROUPS
from headscope.reporting.importance_section import TERMS as IMPORTANCE_TERMS
from headscope.reporting.inputs import ReportInputs
from headscope.reporting.probes_section import TERMS as PROBE_TERMS

_CHOSEN = (
    ("Held-out", "a head is chosen on one half of the documents and scored on the other, both ways, over 20 halvings: "
     "what the choice is worth. The head chosen most often is named, with its own accuracy on all documents. The "
     "paper’s way chooses and scores on all"),
    ("95% interval of a difference", "both numbers are of the same documents, and what they share cancels; so two "
     "numbers can be told apart whose own intervals overlap"),
    ("Random weights", "the same model with weights that were never trained, through the same selection"),
)  # fmt: skip
_SYNTAX = (
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
_COREFERENCE = (
    ("Coreference", "a mention counts if an earlier one in its window is of its entity; it is right if the candidate’s "
     "head word with most attention from its own head word is such a one. Nearest: the rightmost candidate; same head "
     "word: the nearest with it; four rules: full string, head word, number, gender and person, any"),
)  # fmt: skip
_DISTANCES = (
    ("Distance between heads", "Jensen–Shannon divergence of their attention, in nats, averaged over all tokens that "
     "attend; 0.1% of each distribution is spread evenly first. The map is metric multidimensional scaling of it. "
     f"Documents are resampled in {DIVERGENCE_GROUPS} groups at most"),
    ("Layer effect", "mean divergence between heads of different layers less that of heads of one layer; p from 10,000 "
     "permutations of the heads’ layers"),
)  # fmt: skip


def more_terms(inputs: ReportInputs) -> tuple[tuple[str, str], ...]:
    """Return the terms that a run's further sections need."""
    syntax = _SYNTAX if inputs.dependency_best is not None else ()
    coreference = _COREFERENCE if inputs.coreference is not None else ()
    importance = IMPORTANCE_TERMS if inputs.importance is not None else ()
    distances = _DISTANCES if inputs.head_map is not None else ()
    probes = PROBE_TERMS if inputs.probes is not None else ()
    chosen = _CHOSEN if syntax or coreference else ()
    return (*importance, *syntax, *coreference, *chosen, *distances, *probes)
