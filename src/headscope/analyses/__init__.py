"""The analyses, in the order of the report: each is a folder that answers one question, and a line here.

Another package adds an analysis by an entry point `headscope.analyses` that names its `ANALYSIS`; it comes last.
"""

from collections.abc import Mapping
from functools import cache

from headscope.analyses.analysis import Analysis, Stage
from headscope.analyses.arc_examples.analysis import ANALYSIS as ARC_EXAMPLES
from headscope.analyses.behaviors.analysis import ANALYSIS as BEHAVIORS
from headscope.analyses.coref.analysis import ANALYSIS as COREF
from headscope.analyses.distances.analysis import ANALYSIS as DISTANCES
from headscope.analyses.distribution.analysis import ANALYSIS as DISTRIBUTION
from headscope.analyses.experiments.analysis import ANALYSIS as EXPERIMENTS
from headscope.analyses.importance.analysis import ANALYSIS as IMPORTANCE
from headscope.analyses.jobs.analysis import ANALYSIS as JOBS
from headscope.analyses.norms.analysis import ANALYSIS as NORMS
from headscope.analyses.pca.analysis import ANALYSIS as PCA
from headscope.analyses.probes.analysis import ANALYSIS as PROBES
from headscope.analyses.stats.analysis import ANALYSIS as STATS
from headscope.analyses.syntax.analysis import ANALYSIS as SYNTAX
from headscope.entry_points import installed

_HERE = (
    STATS,
    NORMS,
    BEHAVIORS,
    EXPERIMENTS,
    DISTRIBUTION,
    JOBS,
    PCA,
    IMPORTANCE,
    SYNTAX,
    COREF,
    ARC_EXAMPLES,
    PROBES,
    DISTANCES,
)
ANALYSES: tuple[Analysis, ...] = (
    *_HERE,
    *installed("headscope.analyses", Analysis, taken=frozenset(analysis.name for analysis in _HERE)),
)
STAGES: Mapping[str, Stage] = {stage.name: stage for analysis in ANALYSES for stage in analysis.stages}
OF_STAGE: Mapping[str, Analysis] = {
    stage.name: analysis for analysis in ANALYSES for stage in analysis.stages
}


@cache
def of_table() -> Mapping[str, Stage]:
    """Return the stage that makes each table, by the table's name; this imports the schemas."""
    return {
        schema.name: stage
        for analysis in ANALYSES
        for stage in analysis.stages
        for schema in analysis.tables(stage)
    }
