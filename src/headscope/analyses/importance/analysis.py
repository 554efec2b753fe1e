"""Gradient importance, declared."""

from headscope.analyses.analysis import PACKING, Analysis, Stage

ANALYSIS = Analysis(
    name="importance",
    question="How much does the loss depend on attention?",
    stages=(
        # 2: intervals and tests that keep their level, the table of differences.
        Stage(
            name="importance",
            measure="measure:measure_importance",
            corpora=("text",),
            options=(*PACKING, "loss"),
            tables=("importance", "importance_differences"),
            version=2,
            refused=(
                "saved maps hold no gradients; give a model and text in place of --maps to measure importance"
            ),
        ),
    ),
    figures=("figure-3",),
)
