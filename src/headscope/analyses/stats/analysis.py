"""Declaration of the statistics analysis."""

from pathlib import Path

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, OutputFile, Stage
from headscope.scans.declarations.head_measures import NORM_WEIGHTED, HeadMeasures
from headscope.scans.declarations.option import Option

ANALYSIS = Analysis(
    name="stats",
    question="Where do heads look, in text without annotation?",
    stages=(
        # 2: the table `top_examples`. 3: intervals and tests that keep their level, the table of differences.
        # 4: random cuts of each document by itself. 5: the same statistics for norm-weighted attention.
        # 6: `top_examples` covers a tenth of the text, or 1,024 tokens.
        # 7: columns and values have the names of the field.
        Stage(
            name="stats",
            cost=1,
            measure="compute:StatsMeasurement",
            corpora=("text",),
            options=TEXT_INPUTS,
            # 8: a count column is named after what it counts. 9: `examples` marks the tokens that continue a word.
            # 10: a piece of a character is not punctuation.
            version=10,
            order=0,
            listed="statistics.statistic_catalog:NAMES",
        ),
    ),
    command=Command(
        name="stats",
        help="Print what each head attends to, and its role.\n\nPositions, special tokens, punctuation and entropy.",
        files=(
            OutputFile(
                option=Option(
                    name="out",
                    kind=Path | None,
                    group="output",
                    flags=("--out", "-o"),
                    help="Write the whole table to a .csv, .json or .parquet file.",
                ),
                check="output:check",
                write="output:write",
            ),
        ),
        tells_run=True,
    ),
    head_measures=(
        HeadMeasures(table="stats", by=("statistic",), where={"measure": "weight"}),
        HeadMeasures(
            table="stats",
            by=("statistic",),
            where={"measure": "norm"},
            suffix=NORM_WEIGHTED,
            topic="Norm-weighted attention",
            labels="tables:HEAD_LABELS",
        ),
    ),
    terminal="output:render_results",
    more_columns="norm_roles:norm_roles",
    paper={"table-heads": "output:heads_by_role", "table-layers": "output:attention_by_layer"},
)
