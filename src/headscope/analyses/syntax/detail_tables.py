"""Tables of the best head of each relation: accuracy by distance, and attention to special tokens (section 3.2)."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.syntax.arcs.attending import split_attending
from headscope.analyses.syntax.arcs.gold_arcs import OFFSETS
from headscope.analyses.syntax.arcs.sums import NOOP_CLASSES
from headscope.analyses.syntax.best_heads import DependencyResult
from headscope.analyses.syntax.tables import SYNTAX_BY_DISTANCE, SYNTAX_NOOP
from headscope.examples.arc_examples import first_selection
from headscope.report_kit.tables.cells import records
from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from headscope.statistics.tables.frames import DISTANCES, TOTALS

_MEASURED = ("accuracy", "ci_low", "ci_high")
_HEAD = ["kind", "layer", "head", "direction", "relation"]


def distance_table(result: DependencyResult, best: pd.DataFrame) -> pd.DataFrame:
    """Return `syntax_by_distance.parquet`: the accuracy of each best head, by distance to the head word.

    A root has no distance, so `all` excludes roots here.

    Args:
        result: the counts.
        best: `DependencyResult.best`; its first selection is used, held-out where there is one.
    """
    rows, hits, counts = [], [], []
    root = result.counted.table.relations.index("root")
    for row in records(first_selection(best)):
        kind_sums, head_index = _head_counts(result, row)
        for number, distance in enumerate(DISTANCES):
            relations = result.counted.rows[row["relation"]]
            cells = relations[relations != root] * len(DISTANCES) + number
            cases = kind_sums.counts[:, cells].sum(1)
            if not cases.sum():
                continue
            offset = int(row["baseline_offset"])
            fixed = kind_sums.offsets[:, cells, OFFSETS.index(offset)].sum()
            counts.append(cases)
            hits.append(kind_sums.hits[(slice(None), cells, *head_index)].sum(1))
            rows.append(
                {
                    "model": result.model,
                    **{name: row[name] for name in _HEAD},
                    "distance": distance,
                    "n_arcs": int(cases.sum()),
                    "baseline_offset": offset,
                    "baseline_accuracy": fixed / cases.sum(),
                }
            )
    table = pd.DataFrame(rows, columns=[c for c in SYNTAX_BY_DISTANCE.names if c not in _MEASURED])
    if rows:
        interval = ratio_interval(np.stack(hits, axis=1), np.stack(counts, axis=1), scale="share")
        table = table.assign(accuracy=interval.value, ci_low=interval.low, ci_high=interval.high)
    return table.reindex(columns=SYNTAX_BY_DISTANCE.names)


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
        kind_sums, (layer, head, direction) = _head_counts(result, row)
        (relation,) = result.counted.rows[row["relation"]].tolist()  # labels are folded before they are counted
        counts = split_attending(kind_sums.attending, relation, direction)
        for class_index, key_class in enumerate(NOOP_CLASSES):
            attention = kind_sums.noop[:, :, :, layer, head, class_index]
            if not attention.sum():
                continue  # the tokenizer has no such token
            inside, outside = split_attending(attention, relation, direction)
            sides.append((inside, counts[0], outside, counts[1]))
            rows.append(
                {
                    **{name: row[name] for name in _HEAD},
                    "key_class": key_class,
                    "n_words": int(counts[0].sum()),
                    "n_other_words": int(counts[1].sum()),
                    "attending": _mean(inside, counts[0]),
                    "others": _mean(outside, counts[1]),
                }
            )
    table = pd.DataFrame(rows, columns=SYNTAX_NOOP.names[:-3])
    if rows:
        stacked = [np.stack(side, axis=1) for side in zip(*sides, strict=True)]
        difference = difference_interval(*stacked)
        table = table.assign(difference=difference.value, ci_low=difference.low, ci_high=difference.high)
    return table.reindex(columns=SYNTAX_NOOP.names)


def _mean(sums: NDArray[Any], counts: NDArray[Any]) -> float:
    """Return the mean over all groups; NaN where nothing was counted."""
    number = counts.sum()
    return float(sums.sum() / number) if number else float("nan")


def _head_counts(result: DependencyResult, row: dict[str, Any]) -> tuple[Any, tuple[int, int, int]]:
    """Return the counts of a row's kind of attention, and the indices `[layer, head, direction]` of the row's head."""
    kind_sums = next(sums for sums in result.counted.sums if sums.kind == row["kind"])
    direction = result.counted.options.directions.index(row["direction"])
    return kind_sums, (int(row["layer"]) - 1, int(row["head"]) - 1, direction)
