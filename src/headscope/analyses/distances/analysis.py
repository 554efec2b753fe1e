"""The declaration of distances between heads and their map."""

from pathlib import Path

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, OutputFile, Stage
from headscope.scans.declarations.head_measures import HeadMeasures
from headscope.scans.declarations.option import Option

ANALYSIS = Analysis(
    name="distances",
    question="How differently do heads attend, and which are alike?",
    stages=(
        # 2 of both: intervals and tests with nominal coverage and level. 3: an independent random cut of each document.
        # 4: the numbers of document groups and of sampled rows depend on the number of heads.
        Stage(
            name="distances",
            cost=0,
            measure="compute:DistancesMeasurement",
            tables="tables:DISTANCE_TABLES",
            corpora=("text",),
            options=TEXT_INPUTS,
            # 6: columns and values have the field's names.
            # 7: a column of counts is named after the thing that it counts.
            # 8: a CPU computes divergences in float32.
            version=8,
            order=2,
        ),
        # 3: resamples have one draw fewer than documents.
        Stage(
            name="map",
            cost=1,
            measure="compute:HeadMapMeasurement",
            tables="tables:MAP_TABLES",
            after=("distances", "stats", "syntax", "coref"),
            # 5: columns and values have the field's names.
            # 6: a column of counts is named after the thing that it counts.
            version=6,
            order=2,
        ),
    ),
    command=Command(
        name="distances",
        help=(
            "Measure how far apart heads are, and put them into clusters.\n\nWhether heads of a layer are alike is "
            "tested. Distances are Jensen-Shannon divergences in nats, averaged over the tokens of the text."
        ),
        # The map shows roles, which come from the statistics.
        stages=("stats", "distances", "map"),
        files=(
            OutputFile(
                option=Option(
                    name="matrix",
                    kind=Path | None,
                    group="output",
                    help=(
                        "Write the divergences as a heads x heads array (.npy), heads layer by layer; one file for "
                        "each kind of attention where the model has several."
                    ),
                ),
                check="tables:check_matrix",
                write="tables:write_matrix",
            ),
        ),
        tells_run=True,
    ),
    head_measures=(HeadMeasures(table="head_map", values=("x", "y", "cluster")),),
)
