"""Declaration of the effects analysis."""

from functools import partial

from headscope.encoding.choices import EXPLAINED
from headscope.scans.declarations.analysis import LOSS_OF_KIND, SCORE_HASH, TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

_REFUSAL = "saved maps hold no model whose heads could be changed; give a model and text in place of --maps"
_stage = partial(Stage, corpora=("text",), order=9, by_name=True, refusal=_REFUSAL)

ANALYSIS = Analysis(
    name="effects",
    question="What changes in the model's predictions without a head?",
    stages=(
        _stage(
            name="effects",
            measure="compute:EffectsMeasurement",
            options=(*(*TEXT_INPUTS, "loss", "labels", "intervention", "effect_inputs", "effect_heads"), SCORE_HASH),
            # 2: effects on logits, direct effects and copying.
            # 3: a test that keeps its level where documents are heavy-tailed.
            # 4: first-order estimates. 5: estimates compared with exact effects. 6: a user's score.
            # 7: a test that pools all heads. 8: estimates are compared with significant effects only.
            # 9: resampled rows of each class come from two documents or more.
            version=9,
            cost=120,
            unless={"intervention": EXPLAINED},
        ),
        _stage(
            name="joint_effects",
            measure="joint_compute:JointEffectsMeasurement",
            tables="tables:JOINT_TABLES",
            # 2: as version 9 of effects.
            version=2,
            options=(*TEXT_INPUTS, "loss", "labels", "intervention", "effect_inputs", "joint_inputs"),
            after=("norms", "explanation", "effects"),
            requested_as="effects",
            cost=120,
            unless={"intervention": EXPLAINED, "joint_inputs": 0},
        ),
        _stage(
            name="effect_kept",
            measure="kept_compute:EffectKeptMeasurement",
            tables="tables:KEPT_TABLES",
            options=(*TEXT_INPUTS, "loss", "labels", "effect_inputs"),
            after=("explanation",),
            needs=("explanation",),
            requested_as="effects",
            cost=200,
        ),
    ),
    command=Command(
        name="effects",
        help=(
            "Measure how much worse the model predicts without each head.\n\n"
            "One head after another is replaced by its mean, and the loss is compared. Needs a checkpoint with a "
            "trained head; the embedded models have one. With --intervention explained heads are explained first, and "
            "their attention is replaced by what explains it: is the explanation the cause?"
        ),
        reworded=(LOSS_OF_KIND,),
    ),
    head_measures=(
        HeadMeasures(
            table="effects", by=("measure",), topic="What the model loses without it", labels="tables:HEAD_LABELS"
        ),
        HeadMeasures(
            table="effect_kept", by=("measure",), topic="With its attention replaced", labels="tables:KEPT_LABELS"
        ),
    ),
)
