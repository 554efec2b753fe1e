"""Behaviors as tidy tables: every head's numbers, and the head that is chosen for each behavior."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.accumulator import BehaviorResult
from headscope.analyses.behaviors.catalog import NAMES, SHARES
from headscope.analyses.behaviors.verdict_rule import stands_out
from headscope.statistics.inference.confidence import Interval, ends_of, ratio_interval
from headscope.statistics.inference.selection import Chosen, held_out, same_data
from headscope.statistics.inference.thresholds import passing
from headscope.statistics.measures import WEIGHT


def heads_table(results: Sequence[BehaviorResult], names: Sequence[str]) -> pd.DataFrame:
    """Lay out every head's behaviors: `kind layer head measure behavior value ci_low ci_high uniform n shows`.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. What cannot occur is NaN with
    `n` = 0; bounds are NaN with fewer than 10 documents.

    Args:
        results: of each kind of attention and measure.
        names: which behaviors, in order.
    """
    columns = [NAMES.index(name) for name in names]
    parts = []
    for result in results:
        both = Interval(
            *(
                np.concatenate([ends, mean[:, None]], axis=1)[..., columns]
                for ends, mean in zip(_ends(result.heads), _ends(result.layers), strict=True)
            )
        )
        uniform = np.broadcast_to(result.uniform[:, None, columns], both.value.shape)
        number = result.n[..., columns]
        # Verdicts are on shares of single heads: neither on a layer's mean nor on distances.
        shows = np.full(both.value.shape, None, dtype=object)
        for index, name in enumerate(names):
            if name in SHARES:
                shows[:, :-1, index] = verdicts(result, columns[index])
        layer, head, which = (index.reshape(-1) for index in np.indices(both.value.shape))
        parts.append(
            pd.DataFrame(
                {
                    "kind": result.kind,
                    "layer": layer + 1,
                    "head": pd.Series(head + 1, dtype="Int64").mask(head == both.value.shape[1] - 1),
                    "measure": result.measure,
                    "behavior": np.array(names)[which],
                    "value": both.value.reshape(-1),
                    "ci_low": both.low.reshape(-1),
                    "ci_high": both.high.reshape(-1),
                    "uniform": uniform.reshape(-1),
                    "n_rows": number.reshape(-1),
                    "shows": pd.array(shows.reshape(-1), dtype="boolean"),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def best_table(results: Sequence[BehaviorResult], names: Sequence[str], *, seed: int) -> pd.DataFrame:
    """Lay out the head of each kind that is chosen for each behavior, by held-out selection.

    `value` is the named head's on documents that did not choose it (`statistics.cross_fitted`), `all_documents` on all.
    Where nothing can be held out (one document), the head is chosen on all of it, and `share`, `held_out` and
    `all_documents` are NaN.

    Args:
        results: of each kind of attention; of several measures, the weights choose.
        names: which behaviors; those that are no share have no best head.
        seed: of the splits.
    """
    rows: list[dict[str, Any]] = []
    for result in results:
        if result.measure != WEIGHT:
            continue
        for name in (name for name in names if name in SHARES):
            column = NAMES.index(name)
            if not result.n[..., column].any():
                continue
            shows = verdicts(result, column)
            chosen = chosen_head(result, column, seed=seed)
            layer, head = divmod(int(chosen.candidate[0]), result.sums.shape[2])
            position = (layer, head, column)
            cross_fitted = not np.isnan(chosen.share[0])
            rows.append(
                {
                    "kind": result.kind,
                    "behavior": name,
                    "layer": layer + 1,
                    "head": head + 1,
                    "share": float(chosen.share[0]),
                    **(ends_of(chosen.value, 0) if cross_fitted else ends_of(result.heads, position)),
                    **(
                        ends_of(result.heads, position, "all_documents", "all_documents_")
                        if cross_fitted
                        else {}
                    ),
                    "uniform": float(result.uniform[layer, column]),
                    **ends_of(chosen.held_out, 0, "held_out", "held_out_"),
                    "n_rows": int(result.n[position]),
                    "shows": shows[layer, head],
                }
            )
    columns = ["kind", "behavior", "layer", "head", "share", "value", "ci_low", "ci_high", "all_documents"]
    columns += ["all_documents_ci_low", "all_documents_ci_high", "uniform", "held_out", "held_out_ci_low"]
    columns += ["held_out_ci_high", "n_rows", "shows"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"shows": "boolean"})


def verdicts(result: BehaviorResult, column: int) -> NDArray[np.object_]:
    """Return whether each head shows a behavior, `[layer, head]`; None where nothing was tested.

    Args:
        result: of one kind of attention.
        column: of `NAMES`; a share.
    """
    sums, rows = result.sums[..., column], result.rows[..., column]
    return passing(
        lambda confidence: ratio_interval(sums, rows, scale="share", confidence=confidence),
        lambda shares: stands_out(shares, result.uniform[:, None, column]),
    )


def chosen_head(result: BehaviorResult, column: int, *, seed: int) -> Chosen:
    """Choose the head with most weight where a behavior would put it, by held-out selection.

    Layers that see less (sliding windows) have fewer rows in which a behavior can occur: each document's mean counts
    as often as in the layer that has the most.

    Args:
        result: of one kind of attention.
        column: of `NAMES`.
        seed: of the splits.
    """
    sums, rows = result.sums[..., column], result.rows[..., column].astype(np.float64)
    most_rows = rows.max((1, 2))
    factors = np.divide(most_rows[:, None, None], rows, out=np.zeros_like(rows), where=rows > 0)
    hits = (sums * factors).reshape(len(sums), -1, 1)
    # A head in which it never occurs is no candidate: a weight below all others keeps it from being chosen.
    never = np.broadcast_to(~rows.any(0), sums.shape[1:]).reshape(-1)
    hits[:, never] = -1.0
    chosen = held_out(hits, most_rows[:, None], seed=seed)
    return chosen if chosen.candidate[0] >= 0 else same_data(hits, most_rows[:, None])


def of_model(table: pd.DataFrame, model: str, seed: int | None = None) -> pd.DataFrame:
    """Put the columns `model` and `seed` before a table."""
    number = pd.array([pd.NA if seed is None else seed] * len(table), dtype="Int64")
    return pd.concat(
        [pd.DataFrame({"model": [model] * len(table), "seed": number}), table.reset_index(drop=True)], axis=1
    )


def _ends(interval: Interval) -> tuple[NDArray[np.float64], ...]:
    return interval.value, interval.low, interval.high
