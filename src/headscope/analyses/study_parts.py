"""What an analysis adds to a study: columns of `study.heads`, the relations that heads find, and a summary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

Row = Mapping[str, Any]
Read = Callable[[str], pd.DataFrame | None]
"""Returns a table by its name, None where the run did not make it."""


@dataclass(frozen=True, kw_only=True)
class HeadMeasures:
    """Columns of `study.heads`, from a table with rows of single heads.

    Attributes:
        table: its name; has `kind`, `layer` and `head`.
        values: the columns to take; one alone is not named in the columns of `study.heads`.
        by: the columns whose values make up the name, in this order.
        where: conditions on rows, as column and value; other rows are left out.
        measure: what the numbers are, where neither `by` nor `values` says so.
        suffix: ends the names: `norm` for norm-weighted attention, `treebank` for what was read there.
        verdict: the column that is `yes` where a head shows what is measured; empty where there is none.
    """

    table: str
    values: tuple[str, ...] = ("value",)
    by: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    measure: str = ""
    suffix: str = ""
    verdict: str = ""

    def named(self, analysis: str, names: Sequence[Any], value: str = "") -> str:
        """Return the name of a column of `study.heads`: `analysis.measure`, then the class where there is one.

        Args:
            analysis: the name of the analysis.
            names: the values of the columns `by`; a missing one has no name.
            value: of `values`.
        """
        classes = [_word(by, name) for by, name in zip(self.by, names, strict=True) if not pd.isna(name)]
        column = value if len(self.values) > 1 else ""
        return ".".join(filter(None, [analysis, self.measure, *classes, column, self.suffix]))


def _word(column: str, name: Any) -> str:
    """A number stands behind the name of its column, as `decile_5`; an arrow is written out."""
    return str(name).replace("->", "_to_") if isinstance(name, str) else f"{column}_{name}"


@dataclass(frozen=True, kw_only=True)
class StudyParts:
    """What an analysis adds to a study; loaded with it, so it comes with nothing heavy.

    Attributes:
        chosen: its table of heads chosen for what it looks for, as `statistics.roles.finds` reads it; empty where it
            looks for nothing.
        named: returns the name of what a row's head finds.
        summary: describes what it read, from the manifest, in a few words each.
        heads: columns of `study.heads` from its tables.
        further: computes more columns of `study.heads` from tables: indexed by `kind`, `layer` and `head`; None where
            the tables are not there.
    """

    chosen: str = ""
    named: Callable[[Row], str] = lambda _: ""
    summary: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: ()
    heads: tuple[HeadMeasures, ...] = ()
    further: Callable[[Read], pd.DataFrame | None] = lambda _: None
