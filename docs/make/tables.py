"""Make docs/reference/tables.md from the schemas of the tables: `make docs`."""

from math import inf
from pathlib import Path

from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.statistics.tables.table_schema import Column, TableSchema

PAGE = Path(__file__).parents[1] / "reference" / "tables.md"
BEGINNING = """# Tables

Each table of a run is `tables/NAME.parquet`; `study.table("NAME")` returns it as a data frame ([Python](../python.md)).
[Files](../files.md) lists the rest of a run directory, [definitions](../definitions.md) the meaning of the numbers.
Layers and heads count from 1; shares lie from 0 to 1, never percent; entropies and divergences are in nats.

A value may be missing only where the last column says what that means: a missing `Int64` or `boolean` is `<NA>`,
a missing `float64` NaN. A table without rows has columns without types. Before a table is written its columns, types,
missing values, bounds and keys are checked against these lines. `make docs` makes this page.
"""


def page() -> str:
    """Return the whole page."""
    parts = [BEGINNING]
    for analysis in ANALYSES:
        tables = [table for stage in analysis.stages for table in analysis.tables(stage)]
        if tables:
            parts.append(f"## {analysis.question}\n")
            parts += [described(table) for table in tables]
    return "\n".join(parts)


def described(table: TableSchema) -> str:
    """Return the part about one table."""
    rows = "\n".join(row(column) for column in table.columns)
    key = ", ".join(f"`{name}`" for name in table.key)
    return (
        f"### `{table.name}`\n\n{table.meaning}\n\nOne row for each {key}.\n\n"
        f"| column | type | unit | meaning | missing |\n|---|---|---|---|---|\n{rows}\n"
    )


def row(column: Column) -> str:
    """Return a column's line; its permitted values follow its meaning."""
    cells = (f"`{column.name}`", column.dtype, column.unit, column.meaning + held(column), column.missing)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def held(column: Column) -> str:
    """Return the permitted words or numbers of a column, where they do not follow from its unit."""
    if column.choices:
        listed = ", ".join(f"`{choice}`" for choice in column.choices)
        return f"; one of {listed}{', or a name of yours' if column.others else ''}"
    if column.bounds is None or column.unit.startswith("share") or column.bounds[1] == inf:
        return ""
    return f"; from {column.bounds[0]:.4g} to {column.bounds[1]:.4g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
