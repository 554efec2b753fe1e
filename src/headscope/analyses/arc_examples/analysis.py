"""The best heads at work, declared: nothing is measured for it that other analyses have not found."""

from headscope.analyses.analysis import Analysis

ANALYSIS = Analysis(
    name="arc_examples",
    question="What do the best heads do on a sentence?",
    stages=(),
    terminal=None,
    figures=("figure-5",),
)
