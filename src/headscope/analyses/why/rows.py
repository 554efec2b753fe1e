"""The tables of what draws each head, from sums by document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.why.parts import Source, Sources
from headscope.analyses.why.patching import Chosen
from headscope.analyses.why.pulls import ALL, KEYS, NON_SINK, SIDES
from headscope.analyses.why.sums import PatchSums, PullSums
from headscope.analyses.why.tables import ABOVE_RANDOM, LEAST_ABOVE, LEAST_PULL, MOST_SOURCES, OTHERS, SOURCES
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Interval, interval_of, ratio_interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import passing
from headscope.statistics.tables.frames import interval_arrays


def chosen_sources(pulls: Mapping[str, PullSums], sources: Sources, *, most: int) -> Chosen:
    """Return the strongest sources of each head's queries and keys, off the sink where there are such keys.

    Args:
        pulls: sums of each kind.
        sources: all sources, in their order in the sums.
        most: number of sources on each side.
    """
    chosen = {}
    for kind, sums in pulls.items():
        accounts = np.abs(sums.accounts.sum(0))  # [layer, head, KEYS, SIDES, source]
        some = sums.inputs.sum(0) > 0
        for layer, heads in enumerate(accounts):
            keys = KEYS.index(NON_SINK if some[layer, KEYS.index(NON_SINK)] else ALL)
            order = np.argsort(-heads[:, keys], axis=-1, kind="stable")[..., :most]
            chosen[kind, layer] = [
                tuple(
                    tuple(sources[index] for index in order[head, side] if heads[head, keys, side, index] > 0)
                    for side in range(len(SIDES))
                )
                for head in range(len(heads))
            ]
    return chosen  # type: ignore[return-value]


def pull_table(part: KindLayout, sums: PullSums, control: PullSums | None) -> pd.DataFrame:
    """Return the pulls of the heads of a kind as `pulls.parquet`."""
    interval = ratio_interval(sums.totals, sums.inputs[:, :, None], scale="real")
    random = np.full((part.layers, len(KEYS)), np.nan)
    if control is not None:
        random = ratio_interval(control.totals, control.inputs[:, :, None], scale="real").value.max(1)
    layer, head, keys = (each.reshape(-1) for each in np.indices(interval.value.shape))
    columns = {name: array.reshape(-1) for name, array in interval_arrays(interval, "pull").items()}
    return pd.DataFrame(
        {
            "kind": part.kind,
            "layer": layer + 1,
            "head": head + 1,
            "keys": np.array(KEYS)[keys],
            **columns,
            "random": random[layer, keys],
            "n_inputs": sums.inputs.sum(0).astype(np.int64)[layer, keys],
        }
    )


def random_shares(control: PullSums, sources: Sources) -> NDArray[np.float64]:
    """Return the largest share of a source of each part with random weights, for each source.

    Returns:
        `[layer, KEYS, SIDES, source]`: the largest over the heads of the layer and the sources of the same part.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = control.accounts.sum(0) / control.totals.sum(0)[..., None, None]
    largest: NDArray[np.float64] = shares.max(1)
    names = np.array([source.part for source in sources])
    out = np.empty_like(largest)
    for name in np.unique(names):
        out[..., names == name] = largest[..., names == name].max(-1, keepdims=True)
    return out


def source_table(part: KindLayout, sums: PullSums, control: PullSums | None, sources: Sources) -> pd.DataFrame:
    """Return the shares of the sources of the heads of a kind as `sources.parquet`, without replacements.

    The largest `MOST_SOURCES` of a head and side have rows; the others are summed.
    """
    pulls = ratio_interval(sums.totals, sums.inputs[:, :, None], scale="real")
    random = None if control is None else random_shares(control, sources)
    inputs = sums.inputs.sum(0).astype(np.int64)
    rows: list[dict[str, Any]] = []
    for layer, head, keys in np.ndindex(pulls.value.shape):
        if not inputs[layer, keys]:
            continue
        verdicts = None
        if random is not None and pulls.low[layer, head, keys] > LEAST_PULL:
            verdicts = established(sums, random, layer, head, keys)
        for side, name in enumerate(SIDES):
            at = layer, head, keys, side
            place = {"kind": part.kind, "layer": layer + 1, "head": head + 1, "keys": KEYS[keys], "side": name}
            accounts = sums.accounts[(slice(None), *at)]
            order = np.argsort(-np.abs(accounts.sum(0)), kind="stable")
            named = [index for index in order[:MOST_SOURCES] if accounts[:, index].any()]
            rest = accounts[:, order[len(named) :]].sum(1, keepdims=True)
            shares = ratio_interval(
                np.hstack([accounts[:, named], rest]), sums.totals[:, layer, head, keys, None], scale="real"
            )
            for number, index in enumerate([*named, None] if rest.any() else named):
                rows.append({
                    **place, **source_cells("source_", None if index is None else sources[index]),
                    "share": shares.value[number], "ci_low": shares.low[number], "ci_high": shares.high[number],
                    "random": np.nan if random is None or index is None else random[layer, keys, side, index],
                    "established": None if verdicts is None or index is None else verdicts[side, index],
                    "n_inputs": inputs[layer, keys],
                })  # fmt: skip
    table = pd.DataFrame(rows, columns=None if rows else SOURCES.names)
    return _typed(
        table.assign(moved=np.nan, moved_ci_low=np.nan, moved_ci_high=np.nan, moved_less=None, n_replaced=np.nan)
    )


def established(sums: PullSums, random: NDArray[np.float64], layer: int, head: int, keys: int) -> NDArray[np.object_]:
    """Test whether the share of each source of a head lies above random weights, at a false discovery rate of 5%.

    Args:
        sums: sums of the kind.
        random: result of `random_shares`.
        layer, head, keys: indices of the head, and of the keys in `KEYS`.

    Returns:
        True or False, `[SIDES, source]`; None where it is not tested.
    """
    accounts, totals = sums.accounts[:, layer, head, keys], sums.totals[:, layer, head, keys]
    occurs = accounts.any(0)

    estimate = ratio(accounts[:, occurs], totals[:, None])

    def interval_at(confidence: float) -> Interval:
        return interval_of(estimate, scale="real", confidence=confidence)

    largest = random[layer, keys][occurs]
    threshold = largest + np.maximum(ABOVE_RANDOM * largest, LEAST_ABOVE)
    out = np.full(occurs.shape, None, dtype=object)
    out[occurs] = passing(interval_at, lambda interval: interval.low > threshold)
    return out


def source_cells(prefix: str, source: Source | None) -> dict[str, Any]:
    """Return the columns that name a source; None for the sum of all others."""
    if source is None:
        return {f"{prefix}part": OTHERS, f"{prefix}kind": None, f"{prefix}layer": pd.NA, f"{prefix}head": pd.NA}
    return {
        f"{prefix}part": source.part,
        f"{prefix}kind": source.kind or None,
        f"{prefix}layer": source.layer + 1 if source.layer >= 0 else pd.NA,
        f"{prefix}head": source.head + 1 if source.head >= 0 else pd.NA,
    }


def with_patches(
    part: KindLayout, rows: pd.DataFrame, sums: PatchSums, chosen: Chosen
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Add the attention moved by replacing each chosen source, and return the table of pairs.

    Args:
        part: the kind of attention.
        rows: table from `source_table`.
        sums: sums of the replacements of the kind.
        chosen: chosen sources of each head.
    """
    moved = ratio_interval(sums.moved, sums.n_moved, scale="positive")
    less = moved_less(sums)
    shares = ratio_interval(sums.pairs, sums.pulls[..., None, None], scale="real")
    patched, pairs = [], []
    for layer in range(part.layers):
        for head, sides in enumerate(chosen[part.kind, layer]):
            place = {"kind": part.kind, "layer": layer + 1, "head": head + 1}
            for side, of_side in enumerate(sides):
                for number, source in enumerate(of_side):
                    at = layer, head, side, number
                    if sums.n_moved[(slice(None), *at)].any():
                        patched.append({
                            **place, "side": SIDES[side], **source_cells("source_", source),
                            "moved": moved.value[at], "moved_ci_low": moved.low[at], "moved_ci_high": moved.high[at],
                            "moved_less": less[at], "n_replaced": int(sums.n_moved[(slice(None), *at)].sum()),
                        })  # fmt: skip
            for first, query in enumerate(sides[0]):
                for second, key in enumerate(sides[1]):
                    at = layer, head, first, second
                    if sums.pairs[(slice(None), *at)].any():
                        pairs.append({
                            **place, **source_cells("query_", query), **source_cells("key_", key),
                            "share": shares.value[at], "ci_low": shares.low[at], "ci_high": shares.high[at],
                            "n_inputs": int(sums.n_inputs[:, layer].sum()),
                        })  # fmt: skip
    if patched:
        names = ["kind", "layer", "head", "side", "source_part", "source_kind", "source_layer", "source_head"]
        measured = ["moved", "moved_ci_low", "moved_ci_high", "moved_less", "n_replaced"]
        table = _typed(pd.DataFrame(patched))
        rows = rows.drop(columns=measured).merge(table, on=names, how="left", validate="many_to_one")
    return _typed(rows), _typed(pd.DataFrame(pairs))


def moved_less(sums: PatchSums) -> NDArray[np.object_]:
    """Test if replacing a chosen source moves less attention than replacing the one of its side that moves most.

    The two are compared by the interval of their paired difference over documents.

    Returns:
        `[layer, head, SIDES, chosen]`: True or False; None if the source was not replaced in the same inputs, or
        documents are too few.
    """
    moved, counts = sums.moved, sums.n_moved
    total = counts.sum(0)
    means = np.divide(moved.sum(0), total, out=np.full(total.shape, -np.inf), where=total > 0)
    most = means.argmax(-1, keepdims=True)[None]
    difference = ratio_interval(moved - np.take_along_axis(moved, most, -1), counts, scale="real")
    known = np.isfinite(difference.high) & (counts == np.take_along_axis(counts, most, -1)).all(0)
    less = np.full(known.shape, None, dtype=object)
    less[known] = difference.high[known] < 0
    return less


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with nullable integers and booleans, and text, in the columns that may lack values."""
    integers = [name for name in table if str(name).endswith(("_layer", "_head")) or name == "n_replaced"]
    booleans = [name for name in table if name in ("established", "moved_less")]
    return table.astype(dict.fromkeys(integers, "Int64") | dict.fromkeys(booleans, "boolean"))
