"""Dependency heads, declared."""

from headscope.analyses.analysis import Analysis, Stage

ANALYSIS = Analysis(
    name="dependency",
    question="Which head finds which dependency relation?",
    stages=(
        # 2: intervals and tests that keep their level, tables of differences; `dependency_noop` is of the words
        # that attend.
        Stage(
            name="syntax",
            measure="measure:measure_syntax",
            corpora=("treebank",),
            options=(
                *("fold_labels", "pieces", "special_tokens", "both_directions"),
                *("compat", "controls", "shuffled"),
            ),
            tables=(
                *("dependency", "dependency_best", "dependency_differences", "dependency_baselines"),
                *("dependency_by_distance", "dependency_noop", "dependency_examples"),
            ),
            version=2,
        ),
    ),
    study="in_study:STUDY",
    figures=("relations-by-layer", "accuracy-by-distance"),
)
