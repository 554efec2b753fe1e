"""The table of statistics as arrays: every statistic of every head and the mean of every layer, by position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, SupportsFloat, SupportsInt

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.attention.head_id import head_label, kind_prefixes
from headscope.present.cells import Cell
from headscope.present.linked_sentences import HeadRef, Shades, shades
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.roles import OTHERWISE
from headscope.statistics.statistic_catalog import NAMES
from headscope.views.markup import Html

_WHERE = {"encoder": "the encoder", "decoder": "the decoder", "cross": "cross attention"}
COLUMNS = ("value", "ci_low", "ci_high", "uniform", "n_inputs")


@dataclass(frozen=True)
class Kind:
    """One kind of attention: `heads[statistic]` is `[layers, heads, 5]`, `means[statistic]` `[layers, 5]`.

    `model_layers` has each layer's number in the whole model if some of the model's layers have no attention, and is
    empty otherwise. `prefix` precedes the names of its heads, and is empty for a model's only kind; `ending` is the
    last part of the file names of its figures, and is empty for a model's first kind. `documents` is the number of text
    documents behind its intervals. In a run without statistics every number is NaN and every role is empty.
    """

    name: str
    layers: int
    heads_per_layer: int
    heads: Mapping[str, np.ndarray]
    means: Mapping[str, np.ndarray]
    roles: tuple[str, ...]
    model_layers: tuple[int, ...] = ()
    prefix: str = ""
    ending: str = ""
    documents: int = FEWEST_DOCUMENTS

    @property
    def noun(self) -> str:
        """The noun for its heads: `head`, or `decoder head` if the model has other kinds."""
        return f"{self.prefix}head"

    @property
    def of_kind(self) -> str:
        """Suffix for phrases about its heads or layers: ` of the decoder`, or empty for a model's only kind."""
        return f" of {_WHERE[self.name]}" if self.prefix else ""

    @property
    def in_brackets(self) -> str:
        """Suffix for the title of a table: ` (decoder)`, or empty for a model's only kind."""
        return f" ({self.name})" if self.prefix else ""

    def head_label(self, layer: SupportsInt, head: SupportsInt) -> str:
        """Return `1-3`, or `decoder 1-3` if the model has other kinds."""
        return self.prefix + head_label(int(layer), int(head))

    def head_name(self, layer: SupportsInt, head: SupportsInt) -> str:
        """Return `head 1-3`, or `decoder head 1-3` if the model has other kinds."""
        return f"{self.noun} {head_label(int(layer), int(head))}"

    def head(self, layer: SupportsInt, head: SupportsInt) -> HeadRef:
        """Return a reference to a head by its name."""
        return HeadRef(self.name, int(layer), int(head), self.head_name(layer, head))

    def labeled_head(self, layer: SupportsInt, head: SupportsInt) -> HeadRef:
        """Return a reference to a head by its label, for tables."""
        return HeadRef(self.name, int(layer), int(head), self.head_label(layer, head))

    def head_link(self, layer: SupportsInt, head: SupportsInt) -> Html:
        """Return a head's label, linked to its card."""
        return self.labeled_head(layer, head).link

    @property
    def size(self) -> int:
        """Number of heads."""
        return self.layers * self.heads_per_layer

    def layer_name(self, layer: int) -> str:
        """Return a layer's number as in tables: `2`, or `2 (model’s 5)` if the model counts layers differently."""
        return f"{layer} (model’s {self.model_layers[layer - 1]})" if self.model_layers else str(layer)

    def shades(self, statistic: str, *, of_uniform: bool = False) -> Shades:
        """Return the shade of each head by a statistic, for a small figure.

        Args:
            statistic: a share; any statistic with `of_uniform`.
            of_uniform: True to divide by the value under uniform attention.
        """
        values = self.heads[statistic].reshape(-1, len(COLUMNS))
        return shades(values[:, 0] / values[:, 3] if of_uniform else values[:, 0])

    def shaded(self, amounts: Mapping[tuple[int, int], SupportsFloat]) -> Shades:
        """Return the shade of each head by (layer, head), 1-based, for a small figure; other heads get 0."""
        heads = np.ndindex(self.layers, self.heads_per_layer)
        return shades(amounts.get((layer + 1, head + 1), 0.0) for layer, head in heads)

    def cell(self, statistic: str, layer: int, head: int | None = None) -> Cell:
        """Return one number; `layer` and `head` are 1-based, without `head` it is the layer's mean."""
        row = self.means[statistic][layer - 1] if head is None else self.heads[statistic][layer - 1, head - 1]
        n = 0 if np.isnan(row[4]) else int(row[4])
        return Cell(float(row[0]), float(row[1]), float(row[2]), float(row[3]), n)

    def occurs(self, statistic: str) -> bool:
        """Return True if any head or layer has a value."""
        both = (self.heads[statistic][..., 0], self.means[statistic][..., 0])
        return any(bool(np.isfinite(values).any()) for values in both)

    def each(self, statistic: str) -> Iterator[tuple[int, int, Cell]]:
        """Yield (layer, head, cell) of every head that has a value."""
        for layer, head in np.ndindex(self.layers, self.heads_per_layer):
            cell = self.cell(statistic, layer + 1, head + 1)
            if cell.exists:
                yield layer + 1, head + 1, cell

    def each_layer(self, statistic: str) -> list[tuple[int, Cell]]:
        """Return (layer, mean) for every layer that has a value."""
        cells = [(layer, self.cell(statistic, layer)) for layer in range(1, self.layers + 1)]
        return [(layer, cell) for layer, cell in cells if cell.exists]

    def role(self, layer: int, head: int) -> str:
        """Return a head's role."""
        return self.roles[self.head_index(layer, head)]

    def has_values(self, table: pd.DataFrame) -> bool:
        """Return True if a table with `kind` and `value` has a number for this kind."""
        return bool(table.loc[table["kind"] == self.name, "value"].notna().any())

    def head_index(self, layer: SupportsInt, head: SupportsInt) -> int:
        """Return a head's index in head order, from 0; `layer` and `head` are 1-based."""
        return (int(layer) - 1) * self.heads_per_layer + int(head) - 1

    def head_indices(self, rows: pd.DataFrame) -> NDArray[np.int64]:
        """Return the index in head order of the head of each row; `rows` has `layer` and `head` (from 1)."""
        layer, head = (rows[name].to_numpy(np.int64) for name in ("layer", "head"))
        return np.asarray((layer - 1) * self.heads_per_layer + head - 1)

    def in_head_order(self, rows: pd.DataFrame, column: str) -> NDArray[np.float64]:
        """Return a column in head order, from rows with `kind`, `layer` and `head` (from 1); NaN for missing heads."""
        values = np.full(self.size, np.nan)
        of_kind = rows[rows["kind"] == self.name]
        values[self.head_indices(of_kind)] = of_kind[column].to_numpy(np.float64, na_value=np.nan)
        return values


@once_a_study
def kinds_of(run: Study) -> tuple[Kind, ...]:
    """Return every kind in the manifest, in its order."""
    entries = run.manifest["kinds"]
    prefixes = kind_prefixes(str(entry["kind"]) for entry in entries)
    kinds = (_kind(run, entry, prefixes[str(entry["kind"])]) for entry in entries)
    return tuple(replace(kind, ending=f"-{kind.name}") if index else kind for index, kind in enumerate(kinds))


def _kind(run: Study, entry: Mapping[str, Any], prefix: str) -> Kind:
    name, layers, heads = str(entry["kind"]), int(entry["layers"]), int(entry["heads"])
    if "stats" in run.tables:
        stats = run.stats[run.stats["kind"] == name]
        roles = np.full((layers, heads), OTHERWISE, dtype=object)
        of_kind = run.roles[run.roles["kind"] == name]
        roles[_positions(of_kind, "layer", "head")] = of_kind["role"].astype(str)
    else:
        stats = pd.DataFrame(columns=["statistic", "layer", "head", *COLUMNS])
        roles = np.full((layers, heads), "", dtype=object)
    rows = {statistic: stats[stats["statistic"] == statistic] for statistic in NAMES}
    return Kind(
        name=name,
        layers=layers,
        heads_per_layer=heads,
        heads={key: _filled((layers, heads), part[part["head"].notna()]) for key, part in rows.items()},
        means={key: _filled((layers,), part[part["head"].isna()]) for key, part in rows.items()},
        roles=tuple(roles.ravel()),
        model_layers=tuple(map(int, entry.get("own", ()))),
        prefix=prefix,
        documents=max(FEWEST_DOCUMENTS, int(run.manifest["counts"]["documents_used"])),
    )


def _filled(shape: tuple[int, ...], rows: pd.DataFrame) -> np.ndarray:
    out = np.full((*shape, len(COLUMNS)), np.nan)
    names = ("layer", "head")[: len(shape)]
    out[_positions(rows, *names)] = rows[list(COLUMNS)].to_numpy(dtype=np.float64, na_value=np.nan)
    return out


def _positions(rows: pd.DataFrame, *names: str) -> tuple[NDArray[np.int64], ...]:
    return tuple(rows[name].to_numpy(dtype=np.int64) - 1 for name in names)
