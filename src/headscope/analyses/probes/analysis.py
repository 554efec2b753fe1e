"""The declaration of the probes."""

from headscope.scans.declarations.analysis import Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="probes",
    question="How much of the tree do all heads together encode?",
    stages=(
        # 2: trained until the loss has stopped falling; intervals with nominal coverage, the table of differences.
        Stage(
            name="probes",
            cost=100,
            measure="compute:ProbesMeasurement",
            corpora=("treebank", "treebank_train"),
            options=("spacing", "seeds", "vectors_hash", "fold_labels", "pooling", "compat"),
            # 6: a column of counts is named after the thing that it counts.
            version=7,
            order=3,
            refusal="probes need a model; give one with --treebank and --treebank-train in place of --maps",
        ),
    ),
    command=Command(
        name="probes",
        help=(
            "Train probes on a treebank: what all heads know of syntax.\n\nThey are trained on --treebank-train and "
            "measured on --treebank. Beside them stand the same probes on random weights, a parser that sees words and "
            "distances only, and the structural probe on each layer's vectors."
        ),
        without=("compat",),
    ),
    head_measures=(HeadMeasures(table="probe_weights", values=("weight",), by=("probe", "direction")),),
    paper={"table-3": "page_rows:table_3"},
)
