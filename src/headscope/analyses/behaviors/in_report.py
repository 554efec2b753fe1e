"""The parts of the report on behaviors in text."""

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
from headscope.analyses.behaviors.head_functions import IN_TEXT, text_scores
from headscope.analyses.behaviors.section import FIGURE, TOPIC, behaviors_findings, behaviors_section
from headscope.analyses.behaviors.verdict_rule import RULE
from headscope.report_kit.report_parts import Parts
from headscope.report_kit.words import capital
from headscope.study.study import Study

_EACH = "; ".join(f"{BEHAVIORS[name].label}: {BEHAVIORS[name].meaning}" for name in NATURAL)
TERMS = (
    ("Behaviors", f"the mean over the rows in which it can occur, of all inputs. {capital(_EACH)}".replace("`", "")),
    ("Shows a behavior", f"the share of attention is {RULE}; with fewer than 10 documents nothing is tested"),
)  # fmt: skip


def _copy_examples(run: Study) -> pd.DataFrame | None:
    table = run.tables.get("copy_examples")
    if table is None:
        return None
    behaviors = [BEHAVIORS[str(name)] for name in table["behavior"]]
    return table.assign(role=[each.role for each in behaviors], on=[each.on for each in behaviors])


PARTS = Parts(
    group="what",
    findings=behaviors_findings,
    sections=behaviors_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("behaviors",),
    headline={TOPIC: 65},
    functions=text_scores,
    behavior_examples=_copy_examples,
    known_functions=tuple(IN_TEXT.values()),
    needed={"behaviors": ("behaviors", "run headscope report again")},
)
