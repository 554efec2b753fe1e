"""The declaration of gradient importance."""

from headscope.scans.declarations.analysis import LOSS_OF_KIND, TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="importance",
    question="How much does the loss depend on attention?",
    stages=(
        # 2: intervals and tests with nominal coverage and level, the table of differences. 3: an independent random cut
        # of each document.
        Stage(
            name="importance",
            cost=0,
            passes=1,
            measure="compute:ImportanceMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "loss", "labels"),
            # 5: columns and values have the field's names.
            # 6: a column of counts is named after the thing that it counts.
            # 7: the gate estimate.
            version=7,
            required_options=("loss",),
            order=1,
            refusal=("saved maps hold no gradients; give a model and text in place of --maps to measure importance"),
        ),
    ),
    command=Command(
        name="importance",
        help=(
            "Measure how much the model's loss depends on its attention.\n\nThe gradient of the loss by each weight is "
            "taken, by class of token, and by a gate on each head. Needs a checkpoint with a trained head; the "
            "embedded model has one."
        ),
        reworded=(LOSS_OF_KIND,),
    ),
    head_measures=(
        HeadMeasures(
            table="importance",
            by=("measure", "key_class"),
            topic="What the loss depends on",
            labels="tables:HEAD_LABELS",
        ),
    ),
)
