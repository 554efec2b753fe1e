"""Build the tidy tables of behaviors: every head's numbers, and the head that is chosen for each behavior."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import NAMES, SHARES
from headscope.analyses.behaviors.tables import best_columns
from headscope.analyses.behaviors.verdict_rule import stands_out
from headscope.statistics.inference.confidence import ends_of, mapped, ratio_interval
from headscope.statistics.inference.head_means import HeadMeans
from headscope.statistics.inference.selection import Chosen, held_out, same_data
from headscope.statistics.inference.significance import passing
from headscope.statistics.measures import WEIGHT
from headscope.statistics.tables.head_table import head_table, interval_arrays

_ALL_DOCUMENTS = ("all_documents", "all_documents_")


def heads_table(results: Sequence[HeadMeans], names: Sequence[str]) -> pd.DataFrame:
    """Return every head's behaviors: `kind layer head measure behavior value ci_low ci_high uniform n_rows shows`.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. A behavior that cannot occur is NaN
    with `n_rows` = 0; bounds are NaN with fewer than 10 documents.

    Args:
        results: results of each kind of attention and measure.
        names: behaviors, in order.
    """
    columns = [NAMES.index(name) for name in names]
    tables = []
    for means in results:
        # Verdicts exist only for shares of single heads, not for a layer's mean or for distances.
        shows = np.full(means.n[..., columns].shape, None, dtype=object)
        for index, name in enumerate(names):
            if name in SHARES:
                shows[:, :-1, index] = verdicts(means, columns[index])
        values = interval_arrays(mapped(means.values, lambda ends: ends[..., columns]))
        more = {"uniform": means.uniform[:, None, columns], "n_rows": means.n[..., columns], "shows": shows}
        axes = {"behavior": names}
        table = head_table(values | more, axes, mean_last=True, kind=means.kind, measure=means.measure)
        tables.append(table.astype({"shows": "boolean"}))
    return pd.concat(tables, ignore_index=True)


def best_table(results: Sequence[HeadMeans], names: Sequence[str], *, seed: int) -> pd.DataFrame:
    """Return the head of each kind that is chosen for each behavior, by held-out selection.

    `value` is the chosen head's value on held-out documents (`statistics.cross_fitted`), `all_documents` that on all
    documents. Where nothing can be held out (one document), the head is chosen on the whole document, and `share`,
    `held_out` and `all_documents` are NaN.

    Args:
        results: results of each kind of attention and measure; heads are chosen by weights.
        names: behaviors; those that are not a share have no best head.
        seed: seed of the splits.
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
                    **chosen.columns(0),
                    **(ends_of(chosen.value, 0) if cross_fitted else ends_of(result.values, position)),
                    **(ends_of(result.values, position, *_ALL_DOCUMENTS) if cross_fitted else {}),
                    "uniform": float(result.uniform[layer, column]),
                    "n_rows": int(result.n[position]),
                    "shows": shows[layer, head],
                }
            )
    columns = ["kind", *(column.name for column in best_columns(tuple(names)))]
    return pd.DataFrame(rows, columns=columns).astype({"shows": "boolean"})


def verdicts(result: HeadMeans, column: int) -> NDArray[np.object_]:
    """Return for each head True if it shows a behavior, `[layer, head]`; None where nothing was tested.

    Args:
        result: result of one kind of attention.
        column: index in `NAMES` of a behavior that is a share.
    """
    sums, rows = result.sums[..., column], result.counts[..., column]
    return passing(
        lambda confidence: ratio_interval(sums, rows, scale="share", confidence=confidence),
        lambda shares: stands_out(shares, result.uniform[:, None, column]),
    )


def chosen_head(result: HeadMeans, column: int, *, seed: int) -> Chosen:
    """Choose the head with the most weight on a behavior's keys, by held-out selection.

    Layers that see less (sliding windows) have fewer rows in which a behavior can occur: each document's mean is
    weighted by the number of rows in the layer that has the most.

    Args:
        result: result of one kind of attention.
        column: index of the behavior in `NAMES`.
        seed: seed of the splits.
    """
    sums, rows = result.sums[..., column], result.counts[..., column].astype(np.float64)
    most_rows = rows.max((1, 2))
    factors = np.divide(most_rows[:, None, None], rows, out=np.zeros_like(rows), where=rows > 0)
    hits = (sums * factors).reshape(len(sums), -1, 1)
    # A head in which the behavior never occurs must not be chosen: it gets a weight below all others.
    never = np.broadcast_to(~rows.any(0), sums.shape[1:]).reshape(-1)
    hits[:, never] = -1.0
    chosen = held_out(hits, most_rows[:, None], seed=seed)
    return chosen if chosen.candidate[0] >= 0 else same_data(hits, most_rows[:, None])


def model_tables(
    results: Sequence[HeadMeans], names: Sequence[str], number: int | None, *, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of all heads, and of the chosen heads, with the columns `model` and `seed`.

    Args:
        results: results of each kind of attention and measure.
        names: behaviors, in order.
        number: number of the control; None for the trained model.
        seed: seed of the splits.
    """
    model = "trained" if number is None else "control"
    heads, best = (
        table.assign(model=model, seed=pd.Series([number] * len(table), dtype="Int64"))
        for table in (heads_table(results, names), best_table(results, names, seed=seed))
    )
    return heads, best
