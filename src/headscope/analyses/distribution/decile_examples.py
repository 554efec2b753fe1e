"""Examples of rows for each decile of a head, chosen from the sample, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distribution.accumulator import DistributionResult
from headscope.analyses.distribution.deciles import DECILES
from headscope.analyses.distribution.example_accumulator import BEFORE, STRENGTHS, ExampleResult
from headscope.analyses.distribution.row_measures import BINS, NAMES
from headscope.analyses.distribution.row_tokens import excerpt_row
from headscope.analyses.distribution.tables import EXAMPLES
from headscope.prepare.prepared_run import Run

SHOWN = 3
"""Number of rows shown of each decile of a head."""


@dataclass(frozen=True)
class DecileRow:
    """An example row of a decile of a head's rows.

    Attributes:
        layer, head, decile, rank: 1-based.
        strength: index of its measure in `STRENGTHS`.
        at: index in the result's `rows`.
    """

    layer: int
    head: int
    decile: int
    rank: int
    strength: int
    at: int


def decile_rows(examples: ExampleResult, counted: DistributionResult) -> Iterator[DecileRow]:
    """Yield the rows with the smallest hashes of each decile of a head's rows, by layer, head and decile.

    Each bin keeps its smallest hashes, so these rows are a random sample of the decile. A decile that is narrower than
    its bins may have no row in the sample; then any row of those bins is taken instead.

    Args:
        examples: the sample of rows.
        counted: the distribution over the same text.
    """
    layers, heads = counted.least.shape[:2]
    shares = np.broadcast_to(np.array(DECILES) / 10, (layers, heads, len(DECILES)))
    by_measure = [counted.values(NAMES.index(name)) for name in STRENGTHS]
    cuts_of = [values.quantiles(shares) for values in by_measure]
    bins_of = [values.bins(shares)[0] for values in by_measure]
    cells = examples.layer * heads + examples.head
    begins = np.searchsorted(cells, np.arange(layers * heads + 1))
    for head_index, (begin, end) in enumerate(pairwise(begins.tolist())):
        if begin == end:
            continue
        layer, head = divmod(head_index, heads)
        strength = int(examples.strength[begin])
        cuts = cuts_of[strength][layer, head]
        rows, bins = examples.rows[begin:end], examples.bins[begin:end]
        edges = np.concatenate([[0], bins_of[strength][layer, head], [BINS - 1]])
        decile = np.searchsorted(cuts, rows["value"], side="left")
        for number in range(len(DECILES) + 1):
            pool = np.flatnonzero(decile == number)
            if not len(pool):
                pool = np.flatnonzero((bins >= edges[number]) & (bins <= edges[number + 1]))
            first = pool[np.argsort(rows["hash"][pool], kind="stable")][:SHOWN]
            for rank, at in enumerate(first.tolist()):
                yield DecileRow(layer + 1, head + 1, number + 1, rank + 1, strength, begin + at)


def examples_table(run: Run, examples: Sequence[ExampleResult], counted: Sequence[DistributionResult]) -> pd.DataFrame:
    """Return the examples of every head with the words around them, in the columns of `distribution_examples.parquet`.

    Args:
        run: run with the tokens' texts.
        examples: the sample of each kind of attention.
        counted: the distributions over the same text, kind by kind.
    """
    rows = [
        _row(run, sample, decile_row)
        for sample, counts in zip(examples, counted, strict=True)
        for decile_row in decile_rows(sample, counts)
    ]
    return EXAMPLES.frame(rows)


def _row(run: Run, sample: ExampleResult, decile_row: DecileRow) -> dict[str, Any]:
    row = sample.rows[decile_row.at]
    more = {"kind": sample.kind, "measure": STRENGTHS[decile_row.strength], "value": float(row["value"])}
    return vars(decile_row) | more | excerpt_row(run, row, sample.segments, kind=sample.kind, before=BEFORE)
