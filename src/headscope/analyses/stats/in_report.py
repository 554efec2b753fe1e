"""The parts of the report on statistics."""

from typing import Any

from headscope.analyses.stats.by_norm import norm_on_cards
from headscope.analyses.stats.figures import FIGURES
from headscope.analyses.stats.findings import stats_findings
from headscope.analyses.stats.paper import paper_section
from headscope.analyses.stats.section import stats_sections
from headscope.report_kit.kinds import Kind
from headscope.report_kit.report_parts import Parts
from headscope.report_kit.words import words_for
from headscope.study.study import Study


def _cards(run: Study, kind: Kind) -> dict[str, Any]:
    return {"written": norm_on_cards(run, kind, words_for(run.manifest))}


PARTS = Parts(
    group="where",
    findings=stats_findings,
    sections=stats_sections,
    figures=FIGURES,
    closing=paper_section,
    cards=_cards,
    headline={"none": 10, "position": 20, "special": 60, "focus": 90, "noop": 100, "roles": 110},
    decoder_headline={"special": 3, "position": 4},
)
