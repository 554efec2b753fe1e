"""The tables of section 4.3, made of what `CoreferenceAccumulator` and `GapAccumulator` counted."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.heads.baselines import BASELINES
from headscope.heads.coreference import CoreferenceSums
from headscope.heads.gap import GAP_MEASURES, GapSums
from headscope.heads.gap_rows import GAP_BASELINES, GENDERS
from headscope.heads.mention_table import MENTION_TYPES
from headscope.statistics.confidence import Interval, bootstrap_ratio
from headscope.statistics.selection import Chosen, crossed, held_out, same_data
from headscope.statistics.significance import clustered_p, false_discovery

_HEAD = ("kind", "layer", "head")
_NUMBERS = ("accuracy", "ci_low", "ci_high")
COLUMNS = ["model", "seed", "selection", "system", *_HEAD, "share", "mention_type", "n", *_NUMBERS, "q_value"]
HEADS_COLUMNS = ["model", "seed", *_HEAD, "mention_type", "n", *_NUMBERS]
GAP_COLUMNS = ["system", "selection", *_HEAD, "gender", "measure", "n", "value", "ci_low", "ci_high"]
_SELECTIONS = {"held-out": held_out, "same-data": same_data}
_STRONGEST = (BASELINES.index("head match, else nearest"), BASELINES.index("nearest"))


class CoreferenceResult:
    """The counts of one model laid out for tables.

    Args:
        sums: from `CoreferenceAccumulator.compute`.
        model: `trained` or `control`.
        control_seed: which control it is; None for the trained model.
        seed: of intervals and splits.

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
        """Return `coreference_heads.parquet`: every head on every type of mention."""
        interval = bootstrap_ratio(self.hits, self.counts[:, None], seed=self.seed)
        rows = [
            {
                **dict(zip(_HEAD, head)),
                "mention_type": name,
                "n": int(self.counts[:, t].sum()),
                **_ends(interval, (c, t)),
            }
            for c, head in enumerate(self.candidates)
            for t, name in enumerate(MENTION_TYPES)
        ]
        return self._named(rows, HEADS_COLUMNS)

    def systems(self) -> pd.DataFrame:
        """Return `coreference.parquet`: the head that is best at all mentions, and what does without attention.

        One head stands for all types, as in the paper's table 2. Its q compares it with the better of `head match,
        else nearest` and `nearest`, chosen across halves of the documents.
        """
        rows = []
        q = self._q_values()
        for selection, choose in _SELECTIONS.items():
            chosen: Chosen = choose(self.hits, self.counts, by=0, seed=self.seed)
            for t, name in enumerate(MENTION_TYPES):
                place = int(chosen.candidate[t])
                if place < 0:
                    continue
                rows.append(
                    {
                        "selection": selection,
                        "system": "head",
                        **dict(zip(_HEAD, self.candidates[place])),
                        "share": chosen.share[t],
                        "mention_type": name,
                        "n": int(self.counts[:, t].sum()),
                        **_ends(chosen.accuracy, t),
                        "q_value": q[place] if t == 0 else np.nan,
                    }
                )
        table = self._named(rows, COLUMNS)
        if self.model != "trained":
            return table
        return pd.concat([table, self._baselines()], ignore_index=True).astype(_INTEGERS)

    def best(self) -> tuple[str, int, int] | None:
        """Name the head that held-out selection takes, or None where nothing was counted."""
        chosen = held_out(self.hits, self.counts, by=0, seed=self.seed).candidate[0]
        return None if chosen < 0 else self.candidates[int(chosen)]

    def _q_values(self) -> NDArray[np.float64]:
        """Test every head at all mentions against the better simple baseline, `[candidate]`; controls have none."""
        if self.model != "trained":
            return np.full(len(self.candidates), np.nan)
        counts = self.counts[:, :1]
        baseline = crossed(self.fixed[:, _STRONGEST, :1], counts, seed=self.seed)
        difference = self.hits[:, :, 0] - baseline
        return false_discovery(clustered_p(difference, counts))

    def _baselines(self) -> pd.DataFrame:
        interval = bootstrap_ratio(self.fixed, self.counts[:, None], seed=self.seed)
        rows = [
            {
                "model": "baseline",
                "system": system,
                "mention_type": name,
                "n": int(self.counts[:, t].sum()),
                **_ends(interval, (b, t)),
            }
            for b, system in enumerate(BASELINES)
            for t, name in enumerate(MENTION_TYPES)
        ]
        return _frame(rows, COLUMNS)

    def _named(self, rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
        named = [{"model": self.model, "seed": self.control_seed, **row} for row in rows]
        return _frame(named, columns)


def gap_table(sums: Sequence[GapSums], *, seed: int = 0) -> pd.DataFrame:
    """Return `gap.parquet`: the best head by accuracy on all rows, held-out and on the same data, and baselines."""
    first = sums[0]
    right = _flat([part.right for part in sums])
    candidates = _heads(sums)
    rows: list[dict[str, Any]] = []
    for measure in GAP_MEASURES:
        own, number = first.ratio(right, measure)
        numbers = {"measure": measure}
        for selection, choose in _SELECTIONS.items():
            # The head is the same for both measures: F1 is a multiple of the same hits.
            chosen: Chosen = choose(own, number, by=0, seed=seed)
            if chosen.candidate[0] < 0:
                continue
            head = dict(zip(_HEAD, candidates[int(chosen.candidate[0])]))
            rows += [
                {"system": "head", "selection": selection, **head, **numbers, **row}
                for row in _by_gender(chosen.accuracy, first, measure)
            ]
        fixed, number = first.ratio(first.baselines, measure)
        interval = bootstrap_ratio(fixed, number[:, None], seed=seed)
        for b, system in enumerate(GAP_BASELINES):
            one = Interval(interval.value[b], interval.low[b], interval.high[b])
            rows += [{"system": system, **numbers, **row} for row in _by_gender(one, first, measure)]
    return _frame(rows, GAP_COLUMNS)


def _by_gender(interval: Interval, sums: GapSums, measure: str) -> Iterator[dict[str, Any]]:
    counted = sums.true if measure == "accuracy" else sums.rows
    for g, gender in enumerate(GENDERS):
        ends = _ends(interval, g)
        yield {"gender": gender, "n": int(counted[:, g].sum()), "value": ends.pop("accuracy"), **ends}


def _heads(sums: Sequence[CoreferenceSums] | Sequence[GapSums]) -> list[tuple[str, int, int]]:
    found = []
    for part in sums:
        table = part.right if isinstance(part, GapSums) else part.hits
        layers, heads = table.shape[1:3]
        found += [(part.kind, layer + 1, head + 1) for layer in range(layers) for head in range(heads)]
    return found


def _flat(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """`[group, layer, head, item]` of each kind to `[group, candidate, item]` of all."""
    return np.concatenate([table.reshape(len(table), -1, table.shape[-1]) for table in tables], axis=1)


def _ends(interval: Interval, place: Any) -> dict[str, float]:
    ends = (interval.value, interval.low, interval.high)
    return {name: float(end[place]) for name, end in zip(_NUMBERS, ends, strict=True)}


_INTEGERS = {"seed": "Int64", "layer": "Int64", "head": "Int64"}


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    table = pd.DataFrame(rows).reindex(columns=columns)
    return table.astype({name: kind for name, kind in _INTEGERS.items() if name in columns})
