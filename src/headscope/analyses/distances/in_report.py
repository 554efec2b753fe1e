"""The part of the report on distances between heads."""

from headscope.analyses.distances.accumulator import DIVERGENCE_GROUPS
from headscope.analyses.distances.findings import TOPIC, distances_findings
from headscope.analyses.distances.on_cards import map_and_nearest
from headscope.analyses.distances.section import MAP, TREE, distances_section
from headscope.report_kit.report_parts import Parts

TERMS = (
    ("Distance between heads", "Jensen–Shannon divergence of their attention, in nats, averaged over all tokens that "
     "attend; 0.1% of each distribution is spread evenly first. The map is metric multidimensional scaling of it. "
     f"Documents are resampled in {DIVERGENCE_GROUPS} groups at most"),
    ("Layer effect", "mean divergence between heads of different layers less that of heads of one layer; p from 10,000 "
     "permutations of the heads’ layers"),
)  # fmt: skip

PARTS = Parts(
    group="alike",
    findings=distances_findings,
    sections=distances_section,
    figures=(MAP, TREE),
    terms=TERMS,
    explained=("head_map",),
    headline={TOPIC: 80},
    cards=map_and_nearest,
    needed={"distances": ("head_distances", "run headscope report again")},
)
