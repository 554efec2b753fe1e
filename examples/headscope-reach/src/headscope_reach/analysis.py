"""Reach, declared; nothing heavy is imported."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="reach",
    package="headscope_reach",
    question="How far away is what a head attends to the most?",
    stages=(Stage(name="reach", measure="compute:ReachMeasurement", corpora=("text",), options=TEXT_INPUTS),),
    command=Command(name="reach", help="Measure how far away each head attends the most, in tokens."),
    head_measures=(HeadMeasures(table="reach", topic="Distance", labels="tables:HEAD_LABELS"),),
)
