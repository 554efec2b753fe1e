"""The probes of section 5; a new one is a class (`parsers.learner.ArcProbe`) and its place in `PROBES`."""

from collections.abc import Mapping

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe, AttentionWordsProbe
from headscope.analyses.probes.parsers.distance_probe import DistanceWordsProbe
from headscope.analyses.probes.parsers.learner import ArcProbe, System
from headscope.analyses.probes.tables import RIGHT_BRANCHING, STRUCTURAL

PROBES: tuple[type[ArcProbe], ...] = (AttentionProbe, AttentionWordsProbe, DistanceWordsProbe)
OVER_ATTENTION = tuple(probe.name for probe in PROBES if probe.reads_attention)


SYSTEMS: Mapping[tuple[str, str], System] = {
    (STRUCTURAL, "trained"): System(
        name="Structural probe", measure="UUAS", role="broad", paper="structural probe (UUAS)"
    ),
    (RIGHT_BRANCHING, "trained"): System(name="Right-branching", role="mixed", paper="right-branching"),
    # Probes without attention come first; probes on random weights come before those on the trained model.
    **{(probe.name, "trained"): probe.system for probe in PROBES if not probe.reads_attention},
    **{(probe.name, "control"): probe.control for probe in PROBES if probe.control is not None},
    **{(probe.name, "trained"): probe.system for probe in PROBES if probe.reads_attention},
}
"""The rows of table 3 by (probe, model), in the paper's order."""
