"""Make docs/reference/statistics.md from the lists of statistics, roles and behaviors: `make docs`."""

import textwrap
from itertools import groupby
from pathlib import Path

from headscope.analyses.behaviors.catalog import BEHAVIORS
from headscope.statistics.roles import OTHERWISE, ROLES
from headscope.statistics.statistic_catalog import STATISTICS

PAGE = Path(__file__).parents[1] / "reference" / "statistics.md"


def page() -> str:
    """Return the whole page."""
    return f"""# Statistics, roles and behaviors

How they are averaged, and what their intervals promise, is in [definitions](../definitions.md). `make docs` makes this
page.

## Statistics

{statistics_table()}

## Roles

{roles_paragraph()}

## Behaviors

{behaviors_table()}
"""


def statistics_table() -> str:
    """Return a table of the statistics; neighbors with the same meaning share a line."""
    lines = ["| statistic | meaning |", "|---|---|"]
    for meaning, group in groupby(STATISTICS.values(), key=lambda one: one.meaning):
        lines.append(f"| {_quoted([one.name for one in group])} | {meaning} |")
    return "\n".join(lines)


def behaviors_table() -> str:
    """Return a table with a line for each behavior."""
    lines = ["| behavior | meaning |", "|---|---|"]
    lines += [f"| `{one.name}` | {one.meaning} |" for one in BEHAVIORS.values()]
    return "\n".join(lines)


def roles_paragraph() -> str:
    """Return a paragraph with the threshold of each role, in the order in which roles are tried."""
    parts = []
    tried = [role for role in ROLES.values() if role.statistic]
    for (above, of_uniform), group in groupby(tried, key=lambda role: (role.above, role.of_uniform)):
        own = list(group)
        what = f": {own[0].statistic}" if of_uniform else ""
        end = " of that of uniform attention" if of_uniform else ""
        parts.append(f"{_quoted([role.name for role in own])}{what} above {above}{end}")
    return textwrap.fill(f"A head has the first role that holds: {'; '.join(parts)}; else `{OTHERWISE}`.", width=120)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
