"""Which of the rows that were kept of a head stand for each tenth of them, and how they are written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distribution.accumulator import DistributionResult
from headscope.analyses.distribution.deciles import DECILES
from headscope.analyses.distribution.drawn_tokens import excerpt_of
from headscope.analyses.distribution.example_accumulator import STRENGTHS, ExampleResult
from headscope.analyses.distribution.kept_rows import BEFORE, NO_KEY
from headscope.analyses.distribution.scales import BINS, NAMES
from headscope.analyses.distribution.tables import EXAMPLES
from headscope.examples.excerpts import WantedExcerpt
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
    layers, heads = counted.least.shape[:2]
    shares = np.broadcast_to(np.array(DECILES) / 10, (layers, heads, len(DECILES)))
    by_measure = [counted.values(NAMES.index(name)) for name in STRENGTHS]
    cuts_of = [values.quantiles(shares) for values in by_measure]
    bins_of = [values.bins(shares)[0] for values in by_measure]
    own = examples.layer * heads + examples.head
    begins = np.searchsorted(own, np.arange(layers * heads + 1))
    for place, (begin, end) in enumerate(pairwise(begins.tolist())):
        if begin == end:
            continue
        layer, head = divmod(place, heads)
        strength = int(examples.strength[begin])
        cuts = cuts_of[strength][layer, head]
        rows, bins = examples.rows[begin:end], examples.bins[begin:end]
        edges = np.concatenate([[0], bins_of[strength][layer, head], [BINS - 1]])
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
    measure, value = STRENGTHS[chosen.strength], float(row["value"])
    wanted = WantedExcerpt(
        kept.kind, chosen.layer, chosen.head, measure, chosen.rank, value, document, segment
    )
    excerpt = excerpt_of(row, wanted, before=BEFORE)
    on_token = int(row["key"]) != NO_KEY
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
        "key": int(row["key"]) if on_token else pd.NA,
        "weight": float(row["weight"]),
        "start": excerpt.start,
        "tokens": tokens,
        "joined": run.joined(excerpt),
        "key_token": key_tokens[0] if on_token else None,
    }
