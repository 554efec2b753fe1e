"""The numbers of single heads that an analysis has: columns of `study.heads`, colors of the head grid, axes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NORM_WEIGHTED = "norm"
"""The suffix of what is measured of norm-weighted attention."""
SHARE = "share"
"""The unit of what is written in percent."""


@dataclass(frozen=True, kw_only=True)
class HeadMeasures:
    """Columns of `study.heads`, from a table with rows of single heads; the page lists those that have labels.

    Attributes:
        table: its name; has `kind`, `layer` and `head`.
        values: the columns to take; one alone is not named in the columns of `study.heads`.
        by: the columns whose values make up the name, in this order.
        where: conditions on rows, as column and value; other rows are left out.
        measure: what the numbers are, where neither `by` nor `values` says so.
        suffix: ends the names: `norm` for norm-weighted attention, `treebank` for what was read there.
        verdict: the column that is true where a head shows what is measured; empty where there is none.
        topic: the heading above them in the lists of the page.
        labels: `module:name` of the `MeasureLabel` by values of `by`, in the order of the page, of those that the head
            grid can be colored by and the scatter laid out by; empty where the page lists none.
    """

    table: str
    values: tuple[str, ...] = ("value",)
    by: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    measure: str = ""
    suffix: str = ""
    verdict: str = ""
    topic: str = ""
    labels: str = ""

    def column_name(self, analysis: str, names: Sequence[Any], value: str = "") -> str:
        """Return the name of a column of `study.heads`: `analysis.measure`, then the class where there is one.

        Args:
            analysis: the name of the analysis.
            names: the values of the columns `by`; None for a missing one, which is not named.
            value: of `values`.
        """
        classes = [_word(by, name) for by, name in zip(self.by, names, strict=True) if name is not None]
        column = value if len(self.values) > 1 else ""
        return ".".join(filter(None, [analysis, self.measure, *classes, column, self.suffix]))


def _word(column: str, name: Any) -> str:
    """A number stands behind the name of its column, as `decile_5`; an arrow is written out."""
    return str(name).replace("->", "_to_") if isinstance(name, str) else f"{column}_{name}"


@dataclass(frozen=True, kw_only=True)
class MeasureLabel:
    """What the page calls a head measure.

    Attributes:
        label: the name of it, in which `{cls}` and `{sep}` stand for the model's special tokens.
        description: what it is, where the label does not say so; left out of norm-weighted attention.
        unit: of the number, in words.
        comparable: returns whether the table's rows of heads allow to compare it between heads.
    """

    label: str
    description: str = ""
    unit: str = SHARE
    comparable: Callable[[Any], bool] = lambda _: True


@dataclass(frozen=True, kw_only=True)
class ChosenHeads:
    """The table of heads that were chosen for what an analysis looks for, as `statistics.roles.finds` reads it.

    Attributes:
        table: its name.
        by: the column that names what a row's head was chosen for; empty where that is always the same.
        name: of what is looked for, where no column names it.
    """

    table: str
    by: str = ""
    name: str = ""
