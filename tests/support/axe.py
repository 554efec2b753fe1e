"""Accessibility of a page as axe-core sees it."""

from pathlib import Path

import pytest

AXE = Path(__file__).parents[1] / "views" / "js" / "node_modules" / "axe-core" / "axe.min.js"
# Contrast is measured on what lies on flat colors; the rest (canvases) axe leaves undecided.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def violations(page):
    """What is wrong with the page as it is now: a line a rule, with the elements; skips where axe is not installed."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix tests/views/js")
    # Through the debugger, so that the page's own policy does not have to admit it.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, { runOnly: { type: 'tag', values: rules } }).then(result => result.violations)",
        RULES,
    )
    return [
        f"{one['id']}: {one['help']}: " + "; ".join(node["html"][:120] for node in one["nodes"][:4]) for one in found
    ]
