"""Behaviours in text, declared."""

from headscope.analyses.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.analyses.command import Command

ANALYSIS = Analysis(
    name="behaviours",
    question="Which behaviours do heads show in text: the sink, copies, induction, delimiters?",
    stages=(
        # 2: the same by what heads write. 3: controls read at most 64 inputs; the head that is named is scored on
        # documents that did not choose it, and what heads show is corrected over them.
        Stage(
            name="behaviours",
            measure="measure:measure_behaviours",
            scans="measure:scan_behaviours",
            sums="measure:behaviour_sums",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
            place=4,
            version=3,
            listed="analyses.behaviours.catalogue:NATURAL",
        ),
    ),
    command=Command(
        name="behaviours",
        help=(
            "Say which heads show known behaviours in text.\n\nThe first token, neighbours, copies, induction and "
            "delimiters, beside uniform attention in the same rows and beside random weights."
        ),
        place=45,
    ),
    study="in_study:STUDY",
    figures=("behaviours",),
)
