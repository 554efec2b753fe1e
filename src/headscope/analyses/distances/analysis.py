"""Distances between heads and their map, declared."""

from headscope.analyses.analysis import PACKING, Analysis, Stage

ANALYSIS = Analysis(
    name="distances",
    question="How far apart are heads, and which are alike?",
    stages=(
        # 2 of both: intervals and tests that keep their level.
        Stage(
            name="distances",
            measure="measure:measure_distances",
            corpora=("text",),
            options=PACKING,
            tables=("head_distances",),
            version=2,
        ),
        Stage(
            name="map",
            measure="measure_map:measure_head_map",
            after=("distances", "surface", "syntax", "coreference"),
            tables=("head_map", "head_clusters", "layer_effect"),
            version=2,
        ),
    ),
    figures=("figure-6", "head-tree"),
)
