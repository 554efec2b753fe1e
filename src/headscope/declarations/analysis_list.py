"""The analyses, in the order of the report: each is a folder that answers one question, and an entry here.

Another package adds an analysis by an entry point `headscope.analyses` that names its `ANALYSIS`; it comes last.
"""

from collections.abc import Mapping
from functools import cache

from headscope.declarations.analysis import Analysis, Stage
from headscope.entry_points import installed, load

_FOLDERS = (
    *("stats", "norms", "behaviors", "experiments", "distribution", "pca", "explanation"),
    *("importance", "effects", "syntax", "coref", "arc_examples", "probes", "distances", "compare"),
)
# Loaded by name, like those of other packages: `declarations` may not import the analyses.
_HERE: tuple[Analysis, ...] = tuple(load(f"analyses.{folder}.analysis:ANALYSIS") for folder in _FOLDERS)
ANALYSES: tuple[Analysis, ...] = (
    *_HERE,
    *installed("headscope.analyses", Analysis, taken=frozenset(analysis.name for analysis in _HERE)),
)
STAGES: Mapping[str, Stage] = {stage.name: stage for analysis in ANALYSES for stage in analysis.stages}
OF_STAGE: Mapping[str, Analysis] = {stage.name: analysis for analysis in ANALYSES for stage in analysis.stages}


@cache
def of_table() -> Mapping[str, Stage]:
    """Return the stage that makes each table, by table name; this imports the schemas."""
    return {
        schema.name: stage for analysis in ANALYSES for stage in analysis.stages for schema in analysis.tables(stage)
    }
