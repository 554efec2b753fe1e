"""Surface statistics, declared."""

from headscope.analyses.analysis import PACKING, Analysis, Stage

ANALYSIS = Analysis(
    name="surface",
    question="Where do heads look, in text without annotation?",
    stages=(
        # 2: the table `clearest`. 3: intervals and tests that keep their level, the table of differences.
        Stage(
            name="surface",
            measure="measure:measure_surface",
            corpora=("text",),
            options=PACKING,
            tables=("surface", "surface_differences", "examples", "clearest"),
            version=3,
        ),
    ),
    figures=("figure-1", "figure-2", "figure-4"),
)
