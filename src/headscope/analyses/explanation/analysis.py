"""Declaration of the explanation analysis."""

from typing import Any

from headscope.scans.declarations.analysis import FEATURES_HASH, TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import NORM_WEIGHTED, HeadMeasures
from headscope.scans.declarations.option import Option

_LABELS = {
    ("text", "weight"): "HEAD_LABELS",
    ("text", "norm"): "HEAD_LABELS",
    ("text", "non_sink"): "NON_SINK_LABELS",
    ("treebank", "weight"): "TREEBANK_LABELS",
    ("coreference", "weight"): "COREFERENCE_LABELS",
}
"""The labels of the explained share, by corpus and by kind of attention (weight, norm-weighted, non-sink)."""


def _measures_of(corpus: str, measure: str) -> tuple[HeadMeasures, HeadMeasures]:
    """Return the head measures of a corpus and a measure: the explained share, and its accompanying numbers."""
    of: dict[str, Any] = {
        "table": "explanation",
        "where": {"corpus": corpus, "measure": measure, "model": "trained"},
        "suffix": corpus if corpus != "text" else {"weight": "", "norm": NORM_WEIGHTED}.get(measure, measure),
    }
    labels = f"tables:{_LABELS[corpus, measure]}"
    return (
        HeadMeasures(values=("explained",), measure="explained", topic="Explained", labels=labels, **of),
        HeadMeasures(values=("to_explain", "mass", "wrong"), **of),
    )


_FIND = Option(
    name="find", placeholder="WORDS", group="output",
    help="Show the heads whose explanation says these words, as 'previous token' or frequent.",
)  # fmt: skip

ANALYSIS = Analysis(
    name="explanation",
    question="How much of a head's attention do named features predict?",
    stages=(
        Stage(
            name="explanation",
            cost=1,
            head_cost=12,
            measure="compute:ExplanationMeasurement",
            corpora=("text",),
            optional_corpora=("treebank", "coreference"),
            options=(*TEXT_INPUTS, "controls", "spacing", "windows", "singletons", FEATURES_HASH),
            # 4: a table of example rows, and rows of annotated corpora.
            # 5: the fits are kept.
            # 6: the interval is computed from the unexplained share; interchangeable groups are merged in a sentence.
            # 7: case, length and digits describe the characters that a token completes.
            # 8: one fit of all features; kinds of words.
            # 9: the coefficients of columns that vary with the attending token have another order.
            # 10: fewer rows of the text.
            # 11: random weights read at most 32 inputs; 2,000 rows of the text again.
            version=11,
            order=8,
            refusal=(
                "saved maps do not say how tokens are written, which features are computed from; give a model and "
                "text in place of --maps to explain heads"
            ),
        ),
    ),
    command=Command(
        name="explanation",
        shown=(_FIND,),
        help=(
            "Explain every head in a sentence, with its held-out share.\n\n"
            "Attention is predicted from simple features: where the key is, what it is, whether it is a copy. "
            "Half of the documents fit them, the other half measure. With --treebank and --coref their "
            "sentences are read as well, where trees and mentions have features, too."
        ),
    ),
    head_measures=tuple(measures for corpus, measure in _LABELS for measures in _measures_of(corpus, measure)),
)
