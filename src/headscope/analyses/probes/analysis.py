"""Probes, declared."""

from headscope.analyses.analysis import Analysis, Stage

ANALYSIS = Analysis(
    name="probes",
    question="What do all heads together tell of the tree?",
    stages=(
        # 2: trained until their loss has stopped falling; intervals that keep their level, the table of differences.
        Stage(
            name="probes",
            measure="measure:measure_probes",
            corpora=("treebank", "treebank_train"),
            options=("seeds", "vectors_hash", "fold_labels", "pieces", "compat"),
            tables=(
                *("probes", "probe_differences", "probe_relations", "probe_by_distance", "probe_weights"),
                "probe_layers",
            ),
            version=2,
            refused="probes need a model; give one with --treebank and --treebank-train in place of --maps",
        ),
    ),
    figures=("probe-scores", "probe-distances", "probe-weights", "probe-layers"),
)
