"""Coverage of the intervals of deciles: rows with known values go through the accumulator and its table.

There are three kinds of values: continuous (output norms), with a peak at 0 (entropies) and integer (distances). The
heads of one model are as many runs over the same documents; enough models are drawn for all runs.
"""

from functools import cache

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from cells import Cell, covered
from headscope.analyses.distribution.compute import distribution_table
from headscope.analyses.distribution.sums import DistributionAccumulator
from headscope.attention.host_copy import HostCopy
from headscope.attention.output_norms import OutputNorms
from headscope.attention.row_quantities import ROW_STATISTICS, RowQuantity
from headscope.attention.row_statistics import Visibility
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from worlds import log_odds, sigmoid, sizes

HEADS = 20
DECILES = (1, 5, 9)
_ROWS = 3  # rows per unit of document size
_FARTHEST = 20
_AT_ONCE = 48
_PILED = np.log(0.35 / 0.65)


def of_deciles(task: tuple[str, int, int]) -> list[Cell]:
    """Draw rows many times and compute the coverage of the intervals of deciles.

    Args:
        task: distribution of document sizes, documents, runs.
    """
    world, documents, runs = task
    models = -(-runs // HEADS)
    # If a few large documents form the tail, they are the top decile: coverage is measured, but not promised.
    check = "coverage-not-promised" if world == "size-dependent" else "coverage-at-least"
    tables = [_table(world, documents, np.random.default_rng([documents, 11, model])) for model in range(models)]
    cells = []
    for measure, truths in _truth(world).items():
        for decile, truth in zip(DECILES, truths, strict=True):
            rows = [t[(t["measure"] == measure) & (t["decile"] == decile)] for t in tables]
            # A value on the end of an interval is inside, whatever the last digit.
            low, high = (np.concatenate([t[name].to_numpy() for t in rows]) for name in ("ci_low", "ci_high"))
            value = covered(low - 1e-9, high + 1e-9, truth)
            name = f"decile {decile} of {measure}, {world}"
            cells.append(Cell(check, name, documents, models * HEADS, value))
    return cells


def _table(world: str, documents: int, rng: np.random.Generator) -> pd.DataFrame:
    sums = DistributionAccumulator([KindLayout("encoder", 1, HEADS)])
    for number, size in enumerate(sizes(world, (documents,), rng)):
        own = log_odds(world, np.full(HEADS, size), rng)
        left = _ROWS * int(size)
        while left > 0:
            rows = min(left, _AT_ONCE)
            _add(sums, _tile(f"document {number}", _values(own, rows, rng)))
            left -= rows
    return distribution_table(sums.compute())


def _add(sums: DistributionAccumulator, tile: AttentionTile) -> None:
    """Add a tile that is a batch of its own, as in a scan."""
    batch = Batch(segments=(), token_types=torch.zeros(0), info=tile.queries)
    sums.begin(batch)
    sums.update(tile)
    copy = HostCopy()
    sums.hand_over(copy)
    copy.fetch()
    sums.end(batch)


def _values(own: NDArray[np.float64], rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Draw the values of rows, `[head, row]`, with a separate effect for each head."""
    shape, own = (len(own), rows), own[:, None]
    piled = rng.random(shape) < sigmoid(_PILED + own)
    far = rng.geometric(sigmoid(-1 + own), shape)
    return {
        "output_norm": np.exp(own + rng.normal(0, 1, shape)),
        "entropy": np.where(piled, 0.0, rng.uniform(0.5, 3, shape)),
        "distance": np.minimum(far, _FARTHEST).astype(float),
    }


def _tile(document: str, values: dict[str, NDArray[np.float64]]) -> AttentionTile:
    """Build a tile whose rows have these values; each attends to one token at the given distance."""
    heads, rows = values["output_norm"].shape
    width = _FARTHEST + rows
    info = SegmentInfo(
        ids=torch.zeros((1, width), dtype=torch.long),
        classes=torch.full((1, width), int(KeyClass.OTHER)),
        word_ids=torch.arange(width)[None],
        valid=torch.ones((1, width), dtype=torch.bool),
        lengths=torch.tensor([width]),
        documents=(document,),
        indices=(0,),
    )
    keys = _FARTHEST + torch.arange(rows) - torch.from_numpy(values["distance"]).long()
    weights = torch.zeros((1, heads, rows, width), dtype=torch.float64).scatter_(-1, keys[None, ..., None], 1.0)
    statistics = torch.zeros((1, heads, rows, len(ROW_STATISTICS)), dtype=torch.float64)
    statistics[..., RowQuantity.ENTROPY] = torch.from_numpy(values["entropy"])
    seen = torch.ones((1, rows, width), dtype=torch.bool)
    return AttentionTile(
        kind="encoder",
        layer=0,
        start=_FARTHEST,
        queries=info,
        keys=info,
        visibility=Visibility.of(seen, keys=info, start=_FARTHEST, square=True),
        groups=tuple(range(heads)),
        given_weights=weights,
        given_statistics=statistics,
        written=OutputNorms(keys=torch.ones((1, heads, width)), outputs=torch.from_numpy(values["output_norm"])[None]),
    )


@cache
def _truth(world: str, *, documents: int = 150_000) -> dict[str, NDArray[np.float64]]:
    """Return the true deciles of each measure: from very many documents, weighted by their number of rows."""
    rng = np.random.default_rng(1)
    size = sizes(world, (documents,), rng)
    own = np.repeat(log_odds(world, size, rng), size)
    values = _values(own, 1, rng)
    return {name: np.quantile(drawn, np.array(DECILES) / 10, method="inverted_cdf") for name, drawn in values.items()}
