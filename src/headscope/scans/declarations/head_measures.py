"""An analysis's measures of single heads: columns of `study.heads`, colors of the head grid, axes of the scatter."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NORM_WEIGHTED = "norm"
"""The suffix of measures of norm-weighted attention."""
SHARE = "share"
"""The unit of numbers that are shown in percent."""


@dataclass(frozen=True, kw_only=True)
class HeadMeasures:
    """Columns of `study.heads`, from a table with rows of single heads; the page lists those that have labels.

    Attributes:
        table: name of the table; it has `kind`, `layer` and `head`.
        values: columns to take; a single one is not named in the columns of `study.heads`.
        by: columns whose values make up the name, in this order.
        where: conditions on rows, as column and value; other rows are left out.
        measure: name of the numbers, if neither `by` nor `values` gives it.
        suffix: ending of the names: `norm` for norm-weighted attention, `treebank` for measures on the treebank.
        verdict: boolean column that is true if a head shows the measured behavior; empty if there is none.
        topic: heading above the measures in the lists of the page.
        labels: `module:name` of the `MeasureLabel` by values of `by`, in the order of the page, of the measures that
            the head grid can be colored by and the scatter laid out by; empty if the page lists none.
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
        """Return the name of a column of `study.heads`: `analysis.measure`, then the class if there is one.

        Args:
            analysis: name of the analysis.
            names: values of the columns `by`; None for a missing one, which is left out of the name.
            value: one of `values`.
        """
        classes = [_word(by, name) for by, name in zip(self.by, names, strict=True) if name is not None]
        column = value if len(self.values) > 1 else ""
        return ".".join(filter(None, [analysis, self.measure, *classes, column, self.suffix]))


def _word(column: str, name: Any) -> str:
    """Return a word of a column name: numbers follow the name of their column (`decile_5`), arrows are spelled out."""
    return str(name).replace("->", "_to_") if isinstance(name, str) else f"{column}_{name}"


@dataclass(frozen=True, kw_only=True)
class MeasureLabel:
    """The label of a head measure on the page.

    Attributes:
        label: name of the measure, in which `{cls}` and `{sep}` are replaced by the model's special tokens.
        description: description of the measure, if the label is not clear; left out for norm-weighted attention.
        unit: unit of the number, in words.
        comparable: function that returns True if the table's rows of heads allow a comparison between heads.
    """

    label: str
    description: str = ""
    unit: str = SHARE
    comparable: Callable[[Any], bool] = lambda _: True


@dataclass(frozen=True, kw_only=True)
class ChosenHeads:
    """The table of heads that an analysis chose, as `statistics.roles.finds` reads it.

    Attributes:
        table: name of the table.
        by: column that names the task for which a row's head was chosen; empty if that is always the same.
        name: name of the task, if no column names it.
    """

    table: str
    by: str = ""
    name: str = ""
