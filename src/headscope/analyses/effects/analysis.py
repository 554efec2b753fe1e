"""Effects of heads, declared."""

from headscope.declarations.analysis import LOSS_OF_KIND, TEXT_INPUTS, Analysis, Stage
from headscope.declarations.command import Command
from headscope.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="effects",
    question="What changes in the model's predictions without a head?",
    stages=(
        Stage(
            name="effects",
            measure="measure:EffectsMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "loss", "intervention", "effect_inputs"),
            order=9,
            by_name=True,
            refusal="saved maps hold no model whose heads could be changed; give a model and text in place of --maps",
        ),
    ),
    command=Command(
        name="effects",
        help=(
            "Say how much worse the model predicts without each head.\n\n"
            "One head after another is replaced by its mean, and the loss is compared. Needs a checkpoint with a "
            "trained head; the embedded models have one."
        ),
        reworded=(LOSS_OF_KIND,),
    ),
    head_measures=(
        HeadMeasures(
            table="effects",
            by=("measure",),
            topic="What the model loses without it",
            labels="tables:HEAD_LABELS",
        ),
    ),
)
