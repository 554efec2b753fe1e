"""Values that a study returns: labeled arrays, sentences and head cards, and a cache of results per study."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from html import escape
from typing import Any, Self, TypeVar, TypeVarTuple, Unpack
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import xarray as xr

from headscope.attention.head_id import HeadId
from headscope.errors import did_you_mean
from headscope.statistics.statistic import Unit
from headscope.statistics.statistic_catalog import STATISTICS

_MOST_NAMED = 8


class LabeledArray(xr.DataArray):  # type: ignore[no-untyped-call]
    """An `xarray.DataArray` whose `sel` lists the existing labels if a label does not exist."""

    __slots__ = ()

    def sel(self, indexers: Mapping[Any, Any] | None = None, *args: Any, **named: Any) -> Self:
        """Select by labels, as `xarray.DataArray.sel` does.

        Raises:
            KeyError: the dimension or label does not exist; the message lists those that do.
        """
        for dimension, labels in {**(indexers or {}), **named}.items():
            if dimension not in ("method", "tolerance", "drop"):
                self._check(dimension, labels)
        return super().sel(indexers, *args, **named)

    def _check(self, dimension: Hashable, labels: Any) -> None:
        if dimension not in self.dims:
            names = [str(name) for name in self.dims]
            meant = did_you_mean(str(dimension), names)
            raise KeyError(f"no dimension {dimension!r}; expected one of {', '.join(names)}{meant}")
        if isinstance(labels, slice) or dimension not in self.coords:
            return
        known = self.coords[dimension].values.tolist()
        for label in np.asarray(labels, dtype=object).reshape(-1):
            if label not in known:
                raise KeyError(f"no {dimension} {label!r}; {_labels(known, label)}")


def _labels(known: list[Any], label: Any) -> str:
    """Return a phrase that lists the existing labels, and suggests the one that was meant."""
    if all(isinstance(each, int) for each in known):
        whole = known == list(range(known[0], known[-1] + 1)) and len(known) > 1
        numbers = f"{known[0]} to {known[-1]}" if whole else ", ".join(map(str, known))
        return f"expected {'a number from ' if whole else ''}{numbers}"
    names = list(dict.fromkeys(map(str, known)))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"expected one of {', '.join(names[:_MOST_NAMED])}{more}{did_you_mean(str(label), names)}"


def labeled_array(table: pd.DataFrame, statistic: str, *, kind: str) -> LabeledArray:
    """Return one statistic as an array over `layer` and `head` (1-based), its interval as coordinates.

    Raises:
        KeyError: the table has no such statistic or kind; the message lists those it has.
    """
    if statistic not in set(table["statistic"]):
        raise KeyError(f"no statistic {statistic!r}; this study has {', '.join(table['statistic'].unique())}")
    rows = table[(table["statistic"] == statistic) & (table["kind"] == kind) & table["head"].notna()]
    if rows.empty:
        raise KeyError(f"no {kind} attention; this study has {', '.join(table['kind'].unique())}")
    unit = STATISTICS[statistic].unit if statistic in STATISTICS else Unit.SHARE
    grids = {name: rows.pivot(index="layer", columns="head", values=name) for name in ("value", "ci_low", "ci_high")}
    layers = grids["value"].index.to_numpy(dtype=int)
    heads = grids["value"].columns.to_numpy(dtype=int)
    uniform = rows.drop_duplicates("layer").set_index("layer")["uniform"].reindex(layers).to_numpy()
    return LabeledArray(
        grids["value"].to_numpy(dtype=float),
        dims=("layer", "head"),
        coords={
            "layer": layers,
            "head": heads,
            "ci_low": (("layer", "head"), grids["ci_low"].to_numpy(dtype=float)),
            "ci_high": (("layer", "head"), grids["ci_high"].to_numpy(dtype=float)),
            "uniform": ("layer", uniform),
        },
        name=statistic,
        attrs={"units": unit.value, "n_inputs": int(rows["n_inputs"].max()), "kind": kind},
    )


WIDTH = 100
"""Width of terminal output, in columns."""
MOST_EXAMPLES = 3


class Findings(tuple[str, ...]):
    """The sentences that a run supports, each with its numbers; displayed as a list, one below the other."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no findings"
        return "\n".join(textwrap.fill(each, WIDTH, initial_indent="- ", subsequent_indent="  ") for each in self)

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in self)}</ul>"


@dataclass(frozen=True)
class HeadExample:
    """A sentence of the corpus that shows what a head does.

    Attributes:
        label: name of the behavior, such as the relation that the head finds.
        outcome: `right` or `wrong`; None if there is no right answer.
        text: the sentence.
    """

    label: str
    outcome: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.label}{f', {self.outcome}' if self.outcome else ''}: {self.text}"


@dataclass(frozen=True)
class HeadCard:
    """One head of a study: the first line of its card, and example sentences of its behavior.

    Attributes:
        id: layer and head.
        summary: its first line.
        examples: sentences, the clearest first.
        role: the name of its role.
        address: address of its card in the run's atlas; empty if the run has none.
    """

    id: HeadId
    summary: str
    examples: tuple[HeadExample, ...]
    role: str = ""
    address: str = field(default="", repr=False)

    def __repr__(self) -> str:
        lines = [textwrap.fill(f"Head {self.id}. {self.summary}", WIDTH, subsequent_indent="  ")]
        lines += [
            textwrap.fill(str(each), WIDTH, initial_indent="  - ", subsequent_indent="    ")
            for each in self.examples[:MOST_EXAMPLES]
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        link = f'<p><a href="{escape(self.address)}">This head in the atlas</a></p>' if self.address else ""
        shown = "".join(
            f"<li><b>{escape(each.label)}</b>{f' ({each.outcome})' if each.outcome else ''}: {escape(each.text)}</li>"
            for each in self.examples[:MOST_EXAMPLES]
        )
        examples = f"<ul>{shown}</ul>" if shown else ""
        return (
            '<div style="font:13px/1.5 system-ui,sans-serif">'
            f"<p><b>Head {escape(str(self.id))}</b> {escape(self.summary)}</p>{examples}{link}</div>"
        )


@dataclass(frozen=True, kw_only=True)
class StudyWords:
    """Functions that render a study in words, shared with the pages. Each takes a `Study`, which imports this module.

    Attributes:
        card: renders a study as HTML in a notebook.
        findings: returns the sentences that it supports.
        head_cards: returns a function that builds the card of a head.
        summaries: returns the first line of each head's card, by (kind, layer, head).
    """

    card: Callable[[Any], str]
    findings: Callable[[Any], Findings]
    head_cards: Callable[[Any], Callable[[HeadId], HeadCard]]
    summaries: Callable[[Any], Mapping[tuple[str, int, int], str]]


Run = TypeVar("Run")
Made = TypeVar("Made")
Others = TypeVarTuple("Others")


def once_a_study(make: Callable[[Run, *Others], Made]) -> Callable[[Run, *Others], Made]:
    """Cache a function of a study: it is called once per study and other arguments, and its result must not be changed.

    The result must not refer to the study itself, which would then never be freed.

    Args:
        make: the function; its other arguments are hashable.
    """
    results: WeakKeyDictionary[Run, dict[tuple[Any, ...], Made]] = WeakKeyDictionary()

    @wraps(make)
    def result_of(run: Run, *others: Unpack[Others]) -> Made:  # noqa: UP044 (beartype cannot resolve "*Others")
        of_run = results.setdefault(run, {})
        if others not in of_run:
            of_run[others] = make(run, *others)
        return of_run[others]

    return result_of
