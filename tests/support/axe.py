"""Accessibility checks of a page with axe-core."""

from pathlib import Path

import pytest

AXE = Path(__file__).parents[1] / "views" / "js" / "node_modules" / "axe-core" / "axe.min.js"
# Contrast is checked on flat colors only; axe leaves canvases undecided.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def violations(page):
    """Return the page's violations, one line per rule with its elements; skip the test if axe is not installed."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix tests/views/js")
    # The debugger evaluates the script, so that the page's own policy need not admit it.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, { runOnly: { type: 'tag', values: rules } }).then(result => result.violations)",
        RULES,
    )
    return [
        f"{one['id']}: {one['help']}: " + "; ".join(node["html"][:120] for node in one["nodes"][:4]) for one in found
    ]
