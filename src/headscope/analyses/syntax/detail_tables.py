"""Tables on the best heads of section 4.2: accuracy by distance, and attention to special tokens."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.syntax.attending import split_attending
from headscope.analyses.syntax.dependency_result import DependencyResult
from headscope.analyses.syntax.gold_arcs import NOOP_CLASSES, OFFSETS, DependencySums
from headscope.analyses.syntax.tables import SYNTAX_BY_DISTANCE, SYNTAX_NOOP
from headscope.present.cells import records
from headscope.scans.examples.arc_examples import first_selection
from headscope.statistics.inference.confidence import difference_interval, ends_of, ratio_interval
from headscope.statistics.tables.frames import DISTANCES, TOTALS

_ENDS = ("ci_low", "ci_high")
_HEAD = ("kind", "layer", "head", "direction", "relation")


def distance_table(result: DependencyResult, best: pd.DataFrame) -> pd.DataFrame:
    """Return `syntax_by_distance.parquet`: the accuracy of each best head, by distance to the head word.

    A root has no distance, so `all` excludes roots here.

    Args:
        result: the counts.
        best: `DependencyResult.best`; its first selection is used, held-out where there is one.
    """
    rows, hits, counts = [], [], []
    root = result.table.relations.index("root")
    for row in records(first_selection(best)):
        sums, head = _head_counts(result, row)
        relations = result.rows[row["relation"]]
        offset = int(row["baseline_offset"])
        for number, distance in enumerate(DISTANCES):
            cells = relations[relations != root] * len(DISTANCES) + number
            cases = sums.counts[:, cells].sum(1)
            if not cases.sum():
                continue
            fixed = sums.offsets[:, cells, OFFSETS.index(offset)].sum()
            counts.append(cases)
            hits.append(sums.hits[(slice(None), cells, *head)].sum(1))
            rows.append(
                {
                    **{"model": result.model, **{name: row[name] for name in _HEAD}, "distance": distance},
                    "n_arcs": int(cases.sum()),
                    "baseline_offset": offset,
                    "baseline_accuracy": fixed / cases.sum(),
                }
            )
    if not rows:
        return pd.DataFrame(columns=SYNTAX_BY_DISTANCE.names).astype(dict.fromkeys(("accuracy", *_ENDS), float))
    interval = ratio_interval(np.stack(hits, axis=1), np.stack(counts, axis=1), scale="share")
    return SYNTAX_BY_DISTANCE.frame({**row, **ends_of(interval, at, "accuracy")} for at, row in enumerate(rows))


def noop_table(result: DependencyResult, best: pd.DataFrame) -> pd.DataFrame:
    """Return `syntax_noop.parquet`: attention to sep and cls from the words that attend in a relation, and others.

    If attention to sep is a no-op, it should be lower from the words that attend in a head's relation than from all
    other words (section 3.2). Those are the relation's dependents where the dependent attends to its head word, and
    the head words where they attend to their dependents. `n_words` and `n_other_words` count every word once. The
    first and the last word of an input are excluded, because a head that attends backward, or forward, finds only the
    adjacent special token there.
    """
    rows, sides = [], []
    for row in records(first_selection(best)):
        if row["relation"] in TOTALS:
            continue
        sums, (layer, head, direction) = _head_counts(result, row)
        (relation,) = result.rows[row["relation"]].tolist()  # labels are folded before they are counted
        n_words, n_other_words = split_attending(sums.attending, relation, direction)
        for class_index, key_class in enumerate(NOOP_CLASSES):
            attention = sums.noop[:, :, :, layer, head, class_index]
            if not attention.sum():
                continue  # the tokenizer has no such token
            inside, outside = split_attending(attention, relation, direction)
            sides.append((inside, n_words, outside, n_other_words))
            rows.append(
                {
                    **{name: row[name] for name in _HEAD},
                    "key_class": key_class,
                    "n_words": int(n_words.sum()),
                    "n_other_words": int(n_other_words.sum()),
                    "attending": _mean(inside, n_words),
                    "others": _mean(outside, n_other_words),
                }
            )
    if not rows:
        return pd.DataFrame(columns=SYNTAX_NOOP.names).astype(dict.fromkeys(("difference", *_ENDS), float))
    gap = difference_interval(*(np.stack(side, axis=1) for side in zip(*sides, strict=True)))
    return SYNTAX_NOOP.frame({**row, **ends_of(gap, at, "difference")} for at, row in enumerate(rows))


def _mean(sums: NDArray[Any], counts: NDArray[Any]) -> float:
    """Return the mean over all groups; NaN where nothing was counted."""
    number = counts.sum()
    return float(sums.sum() / number) if number else float("nan")


def _head_counts(result: DependencyResult, row: dict[str, Any]) -> tuple[DependencySums, tuple[int, int, int]]:
    """Return the counts of a row's kind of attention, and the indices `[layer, head, direction]` of the row's head."""
    sums = next(sums for sums in result.sums if sums.kind == row["kind"])
    direction = result.options.directions.index(row["direction"])
    return sums, (int(row["layer"]) - 1, int(row["head"]) - 1, direction)
