"""Which of the rows that were kept of a head stand for each tenth of them, and how they are written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distribution.accumulator import DistributionResult
from headscope.analyses.distribution.deciles import DECILES, quantiles
from headscope.analyses.distribution.example_accumulator import STRENGTHS, ExampleResult
from headscope.analyses.distribution.kept_rows import BEFORE, NO_KEY, PADDING
from headscope.analyses.distribution.scales import MEASURES, NAMES
from headscope.analyses.distribution.tables import EXAMPLES
from headscope.examples.excerpts import Excerpt, WantedExcerpt
from headscope.prepare.prepared_run import Run

SHOWN = 3
"""Rows of each tenth of a head's."""


@dataclass(frozen=True)
class ChosenRow:
    """A row that stands for a tenth of a head's rows.

    Attributes:
        layer, head, tenth, rank: from 1.
        strength: place of its measure in `STRENGTHS`.
        at: its place in the result's `rows`.
    """

    layer: int
    head: int
    tenth: int
    rank: int
    strength: int
    at: int


def chosen_rows(
    examples: ExampleResult, counted: DistributionResult, *, most: int = SHOWN
) -> Iterator[ChosenRow]:
    """Yield the rows that stand for each tenth of a head's, by layer, head and tenth: those with the smallest hashes.

    As each bin keeps its smallest, they are a draw from all rows of the tenth. Where none of those kept lies in a tenth
    that is narrower than its bins, any row of these stands in.

    Args:
        examples: what was kept.
        counted: of the same text.
        most: rows of a tenth.
    """
    counts = counted.counts.sum(0, dtype=np.int64)
    heads = counts.shape[1]
    own = examples.layer * heads + examples.head
    begins = np.searchsorted(own, np.arange(counts.shape[0] * heads + 1))
    for place, (begin, end) in enumerate(pairwise(begins.tolist())):
        if begin == end:
            continue
        layer, head = divmod(place, heads)
        strength = int(examples.strength[begin])
        measure = MEASURES[STRENGTHS[strength]]
        in_bins = counts[layer, head, NAMES.index(measure.name)]
        cuts = quantiles(in_bins, measure.edges, np.array(DECILES) / 10)
        rows, bins = examples.rows[begin:end], examples.bins[begin:end]
        # Cuts lie in the bin that they are read from, also where that is its upper edge.
        cut_bins = np.maximum(np.searchsorted(measure.edges, cuts, side="left") - 1, 0)
        edges = np.concatenate([[0], cut_bins, [len(in_bins) - 1]])
        tenth = np.searchsorted(cuts, rows["value"], side="left")
        for number in range(len(DECILES) + 1):
            pool = np.flatnonzero(tenth == number)
            if not len(pool):
                pool = np.flatnonzero((bins >= edges[number]) & (bins <= edges[number + 1]))
            first = pool[np.argsort(rows["hash"][pool], kind="stable")][:most]
            for rank, at in enumerate(first.tolist()):
                yield ChosenRow(layer + 1, head + 1, number + 1, rank + 1, strength, begin + at)


def examples_table(
    run: Run, examples: Sequence[ExampleResult], counted: Sequence[DistributionResult]
) -> pd.DataFrame:
    """Lay the chosen rows of every head out as `distribution_examples.parquet`, with the words around them.

    Args:
        run: says what tokens are called.
        examples: what was kept of each kind of attention.
        counted: of the same text, kind by kind.
    """
    rows = [
        _row(run, kept, chosen)
        for kept, own in zip(examples, counted, strict=True)
        for chosen in chosen_rows(kept, own)
    ]
    return pd.DataFrame(rows, columns=EXAMPLES.names).astype({"key": "Int64"})


def _row(run: Run, kept: ExampleResult, chosen: ChosenRow) -> dict[str, Any]:
    row = kept.rows[chosen.at]
    document, segment = kept.segments[int(row["segment"])]
    ids: NDArray[np.int64] = row["ids"].astype(np.int64)
    there = np.flatnonzero(ids != PADDING)
    positions = int(row["row"]) - BEFORE + there
    on_token = int(row["key"]) != NO_KEY
    keys = np.array([row["key"]] if on_token else [], dtype=np.int64)
    measure, value = STRENGTHS[chosen.strength], float(row["value"])
    excerpt = Excerpt(
        wanted=WantedExcerpt(
            kept.kind, chosen.layer, chosen.head, measure, chosen.rank, value, document, segment
        ),
        rows=positions,
        columns=keys,
        queries=ids[there],
        keys=np.array([row["key_id"]] if on_token else [], dtype=np.int64),
        weights=np.full((len(there), len(keys)), row["weight"], dtype=np.float32),
        start=int(positions[0]),
    )
    tokens, key_tokens, _ = run.written(excerpt)
    return {
        "kind": kept.kind,
        "layer": chosen.layer,
        "head": chosen.head,
        "measure": measure,
        "tenth": chosen.tenth,
        "rank": chosen.rank,
        "value": value,
        "document": document,
        "segment": segment,
        "row": int(row["row"]),
        "key": keys[0] if on_token else pd.NA,
        "weight": float(row["weight"]),
        "start": int(positions[0]),
        "tokens": tokens,
        "joined": run.joined(excerpt),
        "key_token": key_tokens[0] if on_token else None,
    }
