"""What an analysis adds to a study: which heads find what, and what was read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class HeadMeasures:
    """Columns of `study.heads`: what a table with rows of single heads says of each.

    Attributes:
        table: its name; has `kind`, `layer` and `head`.
        values: the columns to take; one alone goes without its name in that of the column of `study.heads`.
        by: the columns whose values name what is measured, in the order of the name.
        where: which rows count, as column and value; others are left out.
        first: what the names begin with; empty for nothing.
    """

    table: str
    values: tuple[str, ...] = ("value",)
    by: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    first: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyParts:
    """What an analysis adds to a study; loaded with it, so it comes with nothing heavy.

    Attributes:
        chosen: its table of heads chosen for what it looks for, as `statistics.roles.finds` reads it; empty where it
            looks for nothing.
        named: what a row's head finds.
        summary: what it read, from the manifest, in a few words each.
        heads: what its tables say of single heads, for `study.heads`.
    """

    chosen: str = ""
    named: Callable[[Row], str] = lambda _: ""
    summary: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: ()
    heads: tuple[HeadMeasures, ...] = ()
