"""The declaration of the comparison of two models."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="compare",
    question="What differs between the heads of two models?",
    stages=(
        Stage(
            name="compare",
            measure="compute:CompareMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "other", "controls", "pairs", "margin", "measures"),
            required_options=("other",),
            passes=2,
            refusal="saved maps hold one model; give two models and text in place of --maps to compare them",
        ),
    ),
    command=Command(
        name="compare",
        models=("model", "other"),
        page="pair_page:write_page",
        several="checkpoints:write_checkpoints",
        of_several={"pairs": "same"},
        help=(
            "Compare the heads of two models on one text.\n\nWhich heads attend differently after fine-tuning, with an "
            "adapter, or in another seed? A head whose change is below the margin is reported as the same."
        ),
    ),
    head_measures=(
        HeadMeasures(
            table="head_changes", values=("change",), measure="change", topic="Change", labels="tables:HEAD_LABELS"
        ),
        HeadMeasures(table="head_changes", values=("random_divergence", "other_layer", "other_head")),
    ),
)
