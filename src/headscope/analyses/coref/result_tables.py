"""The tables of section 4.3, computed from the counts of `CoreferenceAccumulator` and `GapAccumulator`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.coref.accumulator import CoreferenceSums
from headscope.analyses.coref.baselines import BASELINES
from headscope.analyses.coref.gap.accumulator import GAP_MEASURES, GapSums
from headscope.analyses.coref.gap.gap_segments import GAP_BASELINES, GENDERS
from headscope.analyses.coref.mention_table import MENTION_TYPES
from headscope.analyses.coref.tables import (
    COREF,
    COREF_DIFFERENCES,
    COREF_HEADS,
    GAP,
)
from headscope.statistics.inference.confidence import Interval, ends_of, ratio_interval
from headscope.statistics.inference.cross_fitted import cross_fitted_difference
from headscope.statistics.inference.selection import Chosen, both_ways, selection_margin
from headscope.statistics.inference.significance import selection_p
from headscope.statistics.tables.table_schema import TableSchema

_HEAD = ("kind", "layer", "head")
_NUMBERS = ("accuracy", "ci_low", "ci_high")
_HELD_OUT = ("held_out", "held_out_ci_low", "held_out_ci_high")
_STRONGEST = (BASELINES.index("head match, else nearest"), BASELINES.index("nearest"))


class CoreferenceResult:
    """The counts of one model laid out for tables.

    Args:
        sums: from `CoreferenceAccumulator.compute`.
        model: `trained` or `control`.
        control_seed: which control it is; None for the trained model.
        seed: of splits, and of orders of the documents in tests.

    Attributes:
        candidates: (kind, layer, head) of every head, in the order of the arrays.
        hits: `[group, candidate, MENTION_TYPES]`.
        counts: `[group, MENTION_TYPES]`.
    """

    def __init__(
        self,
        sums: Sequence[CoreferenceSums],
        *,
        model: str = "trained",
        control_seed: int | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.control_seed, self.seed = model, control_seed, seed
        self.candidates = _heads(sums)
        self.hits = _flat([part.hits for part in sums])
        self.counts = sums[0].counts
        self.fixed = sums[0].baselines

    def heads(self) -> pd.DataFrame:
        """Return `coref_heads.parquet`: every head on every type of mention."""
        interval = ratio_interval(self.hits, self.counts[:, None], scale="share")
        rows = [
            {
                **dict(zip(_HEAD, head)),
                "mention_type": name,
                "n_mentions": int(self.counts[:, t].sum()),
                **ends_of(interval, (c, t), "accuracy"),
            }
            for c, head in enumerate(self.candidates)
            for t, name in enumerate(MENTION_TYPES)
        ]
        return self._with_model(rows, COREF_HEADS)

    @cached_property
    def chosen(self) -> dict[str, Chosen]:
        """The head that is best at all mentions, by how it was selected; one stands for all types, as in table 2."""
        return both_ways(self.hits, self.counts, by=0, seed=self.seed)

    def systems(self) -> pd.DataFrame:
        """Return `coref.parquet`: the head that is best at all mentions, and the baselines without attention.

        `accuracy` is the named head's on documents that did not choose it (`statistics.cross_fitted`), `all_documents`
        on all; `held_out` that of the selection. q, of the held-out row for all mentions, says that the selection beats
        both `nearest` and `head match, else nearest`.
        """
        rows = []
        for selection, chosen in self.chosen.items():
            is_held_out = selection == "held-out"
            for t, name in enumerate(MENTION_TYPES):
                index = int(chosen.candidate[t])
                if index < 0:
                    continue
                rows.append(
                    {
                        "selection": selection,
                        "system": "head",
                        **dict(zip(_HEAD, self.candidates[index])),
                        "share": chosen.share[t],
                        "mention_type": name,
                        "n_mentions": int(self.counts[:, t].sum()),
                        **ends_of(chosen.value, t, "accuracy"),
                        **(
                            ends_of(chosen.all_documents, t, "all_documents", "all_documents_")
                            if is_held_out
                            else {}
                        ),
                        **ends_of(chosen.held_out, t, "held_out", "held_out_"),
                        "q_value": self._selection_q() if t == 0 and is_held_out else np.nan,
                    }
                )
        table = self._with_model(rows, COREF)
        if self.model != "trained":
            return table
        return _typed(pd.concat([table, self._baselines()], ignore_index=True), COREF)

    def best(self) -> tuple[str, int, int] | None:
        """Name the head that held-out selection takes, or None where nothing was counted."""
        chosen = self.chosen["held-out"].candidate[0]
        return None if chosen < 0 else self.candidates[int(chosen)]

    def differences(self) -> pd.DataFrame:
        """Return rows of `coref_differences.parquet`: the named head less each baseline, and type less type.

        Both sides are of the same documents, those that did not choose the head, the head's rows of the same mentions.
        """
        chosen = self.chosen["held-out"]
        if (chosen.candidate < 0).all():
            return _frame([], COREF_DIFFERENCES)
        hits = self.hits[:, chosen.candidate[0]]
        times = chosen.scores.sum(0)
        gaps = [
            cross_fitted_difference(hits, self.counts, self.fixed[:, b], self.counts, times)
            for b in range(len(BASELINES))
        ]
        rows = [
            {"mention_type": name, "system": "head", "than": system, "n_mentions": int(self.counts[:, t].sum()),
             **ends_of(gap, t, "difference")}
            for system, gap in zip(BASELINES, gaps, strict=True)
            for t, name in enumerate(MENTION_TYPES)
        ]  # fmt: skip
        for first, second in combinations(range(1, len(MENTION_TYPES)), 2):
            sides = [(hits[:, [t]], self.counts[:, [t]]) for t in (first, second)]
            gap = cross_fitted_difference(*sides[0], *sides[1], times[:, [0]])
            rows.append(
                {"mention_type": MENTION_TYPES[first], "system": "head", "than": "head",
                 "than_type": MENTION_TYPES[second], "n_mentions": int(self.counts[:, [first, second]].sum()),
                 **ends_of(gap, 0, "difference")}
            )  # fmt: skip
        return _frame(rows, COREF_DIFFERENCES)

    def against(self, other: "CoreferenceResult") -> pd.DataFrame:
        """Return rows of `coref_differences.parquet`: this model's selection less a control's, same splits."""
        if len(other.counts) != len(self.counts):
            return _frame([], COREF_DIFFERENCES)
        gap = selection_margin(self.chosen["held-out"], other.chosen["held-out"], self.counts)
        rows = [
            {"mention_type": name, "system": "selection", "than": other.model, "seed": other.control_seed,
             "n_mentions": int(self.counts[:, t].sum()), **ends_of(gap, t, "difference")}
            for t, name in enumerate(MENTION_TYPES)
        ]  # fmt: skip
        return _frame(rows, COREF_DIFFERENCES)

    def _selection_q(self) -> float:
        """Return q of the selection against the strongest baselines: of a single test it is p; controls have none."""
        if self.model != "trained":
            return np.nan
        strongest = self.fixed[:, _STRONGEST, :1]
        return float(selection_p(self.hits[:, :, :1], strongest, self.counts[:, :1], seed=self.seed)[0])

    def _baselines(self) -> pd.DataFrame:
        interval = ratio_interval(self.fixed, self.counts[:, None], scale="share")
        rows = [
            {
                "model": "baseline",
                "system": system,
                "mention_type": name,
                "n_mentions": int(self.counts[:, t].sum()),
                **ends_of(interval, (b, t), "accuracy"),
            }
            for b, system in enumerate(BASELINES)
            for t, name in enumerate(MENTION_TYPES)
        ]
        return _frame(rows, COREF)

    def _with_model(self, rows: list[dict[str, Any]], schema: TableSchema) -> pd.DataFrame:
        named = [{"model": self.model, "seed": self.control_seed, **row} for row in rows]
        return _frame(named, schema)


def gap_table(sums: Sequence[GapSums], *, seed: int = 0) -> pd.DataFrame:
    """Return `gap.parquet`: the best head by accuracy on all rows, held-out and on the same data, and baselines."""
    first = sums[0]
    right = _flat([part.right for part in sums])
    candidates = _heads(sums)
    rows: list[dict[str, Any]] = []
    for measure in GAP_MEASURES:
        hits, totals = first.ratio(right, measure)
        numbers = {"measure": measure}
        # The head is the same for both measures: F1 is a multiple of the same hits.
        for selection, chosen in both_ways(hits, totals, by=0, seed=seed).items():
            if chosen.candidate[0] < 0:
                continue
            head = dict(zip(_HEAD, candidates[int(chosen.candidate[0])]))
            all_documents = chosen.all_documents if selection == "held-out" else None
            rows += [
                {"system": "head", "selection": selection, **head, **numbers, **row}
                for row in _by_gender(chosen.value, first, measure, all_documents=all_documents)
            ]
        fixed, totals = first.ratio(first.baselines, measure)
        interval = ratio_interval(fixed, totals[:, None], scale="share")
        for b, system in enumerate(GAP_BASELINES):
            baseline = Interval(interval.value[b], interval.low[b], interval.high[b])
            rows += [{"system": system, **numbers, **row} for row in _by_gender(baseline, first, measure)]
    return _frame(rows, GAP)


def _by_gender(
    interval: Interval, sums: GapSums, measure: str, *, all_documents: Interval | None = None
) -> Iterator[dict[str, Any]]:
    totals = sums.true if measure == "accuracy" else sums.rows
    for g, gender in enumerate(GENDERS):
        beside = {} if all_documents is None else ends_of(all_documents, g, "all_documents", "all_documents_")
        yield {"gender": gender, "n_cases": int(totals[:, g].sum()), **ends_of(interval, g), **beside}


def _heads(sums: Sequence[CoreferenceSums] | Sequence[GapSums]) -> list[tuple[str, int, int]]:
    candidates = []
    for part in sums:
        table = part.right if isinstance(part, GapSums) else part.hits
        layers, heads = table.shape[1:3]
        candidates += [(part.kind, layer + 1, head + 1) for layer in range(layers) for head in range(heads)]
    return candidates


def _flat(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join the kinds' arrays `[group, layer, head, item]` to one `[group, candidate, item]`."""
    return np.concatenate([table.reshape(len(table), -1, table.shape[-1]) for table in tables], axis=1)


def _frame(rows: list[dict[str, Any]], schema: TableSchema) -> pd.DataFrame:
    return _typed(pd.DataFrame(rows).reindex(columns=schema.names), schema)


def _typed(table: pd.DataFrame, schema: TableSchema) -> pd.DataFrame:
    """Restore the types of columns that pandas reads as fractions because some or all of their values are missing."""
    words = [column.name for column in schema.columns if column.dtype == "text"]
    empty = {name: pd.Series([None] * len(table), dtype=object) for name in words if table[name].isna().all()}
    whole = {column.name: "Int64" for column in schema.columns if column.dtype == "Int64"}
    return table.assign(**empty).astype(whole)
