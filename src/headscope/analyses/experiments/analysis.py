"""Declaration of the experiments analysis."""

from headscope.analyses.behaviors.analysis import measures_of
from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage

ANALYSIS = Analysis(
    name="experiments",
    question="What do heads do on controlled inputs: repeated tokens, shuffled words, a needle in a haystack?",
    stages=(
        # 2: the same for norm-weighted attention. 3: as many random sequences as the text has inputs; controls read 16
        # documents; the chosen head is scored on held-out inputs, and verdicts are corrected for multiple tests over
        # heads.
        Stage(
            name="experiments",
            cost=3,
            control_cost=1,
            measure="compute:ExperimentsMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
            order=5,
            # 4: columns and values have the names of the field.
            # 5: a count column is named after what it counts.
            # 6: a piece of a character is not punctuation.
            # 7, 8: fewer sequences, needles and shuffled inputs, and fewer documents for controls.
            version=8,
            listed="analyses.experiments.tables:NAMES",
            refusal="saved maps answer no new inputs; give a model and text in place of --maps for experiments",
        ),
    ),
    command=Command(
        name="experiments",
        help=(
            "Try heads on inputs whose answer is known.\n\nRandom tokens repeated (induction), a needle in a haystack "
            "(retrieval; decoders alone), and the text with its words shuffled."
        ),
    ),
    head_measures=measures_of(
        *("experiments", "experiment", "behavior"),
        topic="Controlled inputs",
        norm_topic="Controlled inputs, norm-weighted",
    ),
)
