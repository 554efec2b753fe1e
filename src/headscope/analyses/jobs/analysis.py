"""The jobs of heads, declared."""

from headscope.analyses.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.analyses.command import Command

ANALYSIS = Analysis(
    name="jobs",
    question="Does a head do one thing or several?",
    stages=(
        Stage(
            name="jobs",
            measure="measure:measure_jobs",
            scans="measure:scan_jobs",
            sums="measure:job_sums",
            corpora=("text",),
            options=TEXT_INPUTS,
            place=7,
        ),
    ),
    command=Command(
        name="jobs",
        help=(
            "Say whether each head does one thing or several.\n\nA mean over all rows mixes what a head does here "
            "with what it does there. Rows in which it is active are grouped by where it looks, at what, and "
            "what it writes; a head has several jobs where such groups come out again of half of the rows."
        ),
        place=27,
    ),
    study="in_study:STUDY",
)
