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
            tables="tables:DISTANCE_TABLES",
            corpora=("text",),
            options=PACKING,
            version=2,
        ),
        Stage(
            name="map",
            measure="measure_map:measure_head_map",
            tables="tables:MAP_TABLES",
            after=("distances", "surface", "syntax", "coreference"),
            version=2,
        ),
    ),
)
