"""Find for each head the stretch of text in which it attends most to copies, or to the tokens after copies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.tables import COPY_EXAMPLES
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass
from headscope.scans.examples.example_tables import example_tokens, within_tokens
from headscope.scans.examples.excerpts import MOST_TOKENS, Excerpt, WantedExcerpt, cut_excerpt, highest
from headscope.scans.passes import collect
from headscope.scans.prepare.prepared_run import ModelRun

_MOST_INPUTS = 24
_LONGEST = 1024
"""Most tokens of an input: longer ones would take too much memory, which holds the whole maps of a layer."""
_MOST_ARCS = 3
_DECIMALS = 6

Pairs = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CopyExample:
    """A head's attention on a stretch of text.

    Attributes:
        excerpt: the stretch, with the head and the behavior.
        on: mask of the behavior's pairs, `[query, key]`.
        amount: sum of the weights on these pairs.
    """

    excerpt: Excerpt
    on: Pairs
    amount: float

    @property
    def value(self) -> float:
        """The mean weight over the rows that have such a pair in the stretch."""
        return self.amount / int(self.on.any(1).sum())

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """The pairs with the largest weights, at most one in a row, in the order of the text."""
        weights = np.where(self.on, self.excerpt.weights, 0.0).round(_DECIMALS)
        rows = np.argsort(-weights.max(1), kind="stable")[:_MOST_ARCS]
        return [(int(row), int(weights[row].argmax())) for row in sorted(rows) if weights[row].any()]


def copy_pairs(ids: NDArray[np.int64], special: Pairs) -> Mapping[str, Pairs]:
    """Return masks of the pairs of copies and of induction, `[row, key]`; keys are earlier than the row in both.

    Args:
        ids: token ids of an input, `[token]`.
        special: mask of special tokens, which do not count as rows.
    """
    earlier = np.tri(len(ids), k=-1, dtype=bool)
    copies = (ids[:, None] == ids[None, :]) & earlier & ~special[:, None]
    behind = np.zeros_like(copies)
    behind[:, 1:] = copies[:, :-1]
    return {"duplicate": copies, "induction": behind & earlier}


def repeating_inputs(segments: Sequence[Segment], *, tokens: int) -> list[Segment]:
    """Choose the inputs in which a stretch repeats the most pairs of tokens.

    Args:
        segments: candidate inputs.
        tokens: largest total length; the first input may be longer.
    """
    counted = [
        (-_most_repeats(each.ids), each.document, each.index, each) for each in segments if len(each) <= _LONGEST
    ]
    ordered = sorted((entry for entry in counted if entry[0]), key=lambda entry: entry[:3])
    return within_tokens([entry[-1] for entry in ordered[:_MOST_INPUTS]], most=tokens)


def _most_repeats(ids: NDArray[np.int64]) -> int:
    """Count the repeated pairs of tokens in the stretch that has the most of them."""
    last: dict[tuple[int, int], int] = {}
    near = np.zeros(len(ids), dtype=np.int64)
    for position, pair in enumerate(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True)):
        near[position] = pair in last and position - last[pair] < MOST_TOKENS - 1
        last[pair] = position
    return int(np.convolve(near, np.ones(MOST_TOKENS, dtype=np.int64)).max(initial=0))


class CopyExampleCollector:
    """Collects the stretch with the largest weight for each head and behavior from some inputs (a scan consumer)."""

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[str] = "layer"

    def __init__(self) -> None:
        self._best: dict[tuple[str, int, int, str], tuple[tuple[float, str, int], CopyExample]] = {}

    @property
    def examples(self) -> list[CopyExample]:
        """The examples by kind, layer, head and behavior."""
        return [self._best[key][1] for key in sorted(self._best)]

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Compare each input of a layer with the best stretches; cross attention has no copies, and is skipped."""
        if not tile.square:
            return
        for item in range(len(tile.queries.documents)):
            valid = tile.queries.valid[item]
            ids, classes = (side[item][valid].cpu().numpy() for side in (tile.queries.ids, tile.queries.classes))
            weights = tile.weights[item][:, tile.row_valid[item]][:, :, tile.keys.valid[item]].float().cpu().numpy()
            pairs = copy_pairs(ids, np.isin(classes, (KeyClass.CLS, KeyClass.SEP)))
            for behavior, on in pairs.items():
                rows = np.where(on, weights, 0.0).sum(-1, dtype=np.float64)
                for head in np.flatnonzero(rows.any(-1)).tolist():
                    self._offer(tile, item, head, behavior, on, rows[head])

    def end(self, batch: Batch) -> None:
        """Close the batch."""

    def _offer(
        self, tile: AttentionTile, item: int, head: int, behavior: str, on: Pairs, rows: NDArray[np.float64]
    ) -> None:
        stretch = highest(rows)
        document, index = tile.queries.documents[item], tile.queries.indices[item]
        wanted = WantedExcerpt(tile.kind, tile.layer + 1, head + 1, behavior, 1, 0.0, document, index)
        excerpt = cut_excerpt(
            wanted, tile, item, stretch, lambda weights: np.where(on[stretch], weights.astype(np.float64), 0.0)
        )
        inside = on[np.ix_(excerpt.rows, excerpt.columns)]
        amount = round(float(np.where(inside, excerpt.weights, 0.0).sum(dtype=np.float64)), _DECIMALS)
        key = (tile.kind, tile.layer, head, behavior)
        order = (-amount, document, index)
        if amount and (key not in self._best or order < self._best[key][0]):
            self._best[key] = order, CopyExample(excerpt, inside, amount)


def copy_examples(run: ModelRun, inputs: Sequence[Segment]) -> pd.DataFrame:
    """Read a few inputs with many repetitions again, and build `copy_examples.parquet`.

    Args:
        run: run of the model.
        inputs: candidate inputs.
    """
    segments = repeating_inputs(inputs, tokens=example_tokens(run.facts()["counts"]["tokens"]))
    examples = collect(lambda: run.again(segments), CopyExampleCollector).examples if segments else ()
    rows = []
    for example in examples:
        queries, keys = ([arc[side] for arc in example.arcs] for side in (0, 1))
        of_pairs = {"value": example.value, "queries": queries, "keys": keys}
        rows.append({**example.excerpt.as_row(*run.excerpt_words(example.excerpt)), **of_pairs})
    return pd.DataFrame(rows, columns=COPY_EXAMPLES.names)
