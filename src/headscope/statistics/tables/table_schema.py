"""Schemas of tables: columns with type, unit and meaning, and the columns that identify a row.

A schema determines the order of a table's columns, the check when it is written (`frames.check_table`), the page of
tables in the docs, and the tables that tests construct.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

DTYPES = (
    *("int64", "Int64", "float64", "bool", "boolean", "text"),
    *("list of text", "list of float64", "list of int64"),
)
"""`Int64` is a whole number and `boolean` a truth value, both with missing values;
in `float64` a missing value is NaN, in `text` None."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: name of the column.
        meaning: its meaning, in a line.
        dtype: one of `DTYPES`.
        unit: unit of its numbers, such as `share` or `nats`; empty without a unit.
        missing: meaning of a missing value; empty if none may be missing.
        bounds: the smallest and the largest value; None without bounds.
        unless: another column, and those of its values for which the bounds do not apply.
        choices: the allowed values; empty if any value is allowed.
        others: True if user-defined names are allowed besides the choices, of letters, digits and `_`.
    """

    name: str
    meaning: str
    dtype: str = "float64"
    _: KW_ONLY
    unit: str = ""
    missing: str = ""
    bounds: tuple[float, float] | None = None
    unless: tuple[str, tuple[str, ...]] | None = None
    choices: tuple[str, ...] = ()
    others: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"column {self.name}: expected a dtype out of {', '.join(DTYPES)}; came {self.dtype!r}")


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """One table of a run.

    Attributes:
        name: name of the table, which is written to `tables/NAME.parquet`.
        meaning: its contents, in a sentence or two.
        columns: columns in order.
        key: columns that identify a row: no two rows have the same values in all of them.

    Raises:
        ValueError: two columns have the same name, or a key or condition refers to an unknown column.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    def __post_init__(self) -> None:
        names = self.names
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        named = [*self.key, *(column.unless[0] for column in self.columns if column.unless)]
        unknown = [name for name in dict.fromkeys(named) if name not in names]
        if twice or unknown or not self.key:
            wrong = f"twice: {', '.join(twice) or 'none'}; not a column: {', '.join(unknown) or 'none'}"
            raise ValueError(
                f"table {self.name}: expected columns of different names, and a key and conditions of them; {wrong}"
            )

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
        """Return rows as a data frame with this table's columns, missing values filled in, and nullable types.

        Args:
            rows: values by column name.
        """
        import pandas as pd

        table = pd.DataFrame(list(rows)).reindex(columns=self.names)
        dtypes = {column.name: column.dtype for column in self.columns}
        # Otherwise pandas reads columns as floats if some or all of their values are missing.
        words = [name for name in self.names if dtypes[name] == "text" and table[name].isna().all()]
        empty = {name: pd.Series([None] * len(table), dtype=object) for name in words}
        nullable = {name: dtype for name, dtype in dtypes.items() if dtype in ("Int64", "boolean")}
        return table.assign(**empty).astype(nullable)
