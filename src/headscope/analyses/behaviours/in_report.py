"""What the report shows of behaviours in text."""

from headscope.analyses.behaviours.catalogue import BEHAVIOURS, NATURAL
from headscope.analyses.behaviours.on_cards import IN_TEXT, behaviours_showings
from headscope.analyses.behaviours.on_grid import written_measures
from headscope.analyses.behaviours.section import (
    TOPIC,
    behaviours_figures,
    behaviours_findings,
    behaviours_section,
)
from headscope.analyses.behaviours.shown import RULE
from headscope.reporting.kit.report_parts import Parts
from headscope.reporting.kit.words import capital

_EACH = "; ".join(f"{BEHAVIOURS[name].label}: {BEHAVIOURS[name].meaning}" for name in NATURAL)
TERMS = (
    ("Behaviours", f"the mean over the rows in which it can occur, of all inputs. {capital(_EACH)}".replace("`", "")),
    ("Shows a behaviour", f"the share of attention is {RULE}; with fewer than 10 documents nothing is tested"),
)  # fmt: skip

PARTS = Parts(
    findings=behaviours_findings,
    sections=behaviours_section,
    figures=behaviours_figures,
    terms=TERMS,
    explained=("behaviours",),
    headline={TOPIC: 65},
    showings=behaviours_showings,
    measures=written_measures,
    showable=tuple(IN_TEXT.values()),
    needed={"behaviours": ("behaviours", "run headscope report again")},
)
