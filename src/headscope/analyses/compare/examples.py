"""The attention of the heads on the same short sentences, in both models."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch

from headscope.analyses.compare.divergence import in_order
from headscope.analyses.compare.pairs import HeadChanges
from headscope.analyses.compare.tables import COMPARE_EXAMPLES
from headscope.attention.head_id import SECOND
from headscope.attention.model.pair_source import PairSource
from headscope.encoding.tokenizer.token_names import readable_tokens
from headscope.examples.collector import ExampleCollector, ExampleMaps
from headscope.prepare.prepared_run import ModelRun
from headscope.scans.short_memory import collect

MOST_PAIRS, MOST_SENTENCES = 144, 2
"""Number of pairs of heads, and number of sentences on which each is drawn."""


def example_table(run: ModelRun, results: Sequence[HeadChanges], *, matched: bool) -> pd.DataFrame:
    """Return the attention of the most changed pairs, of the most alike if matched, as `compare_examples.parquet`.

    Where both models have the same tokens, a pair is drawn on the sentences in which it differs most.
    """
    second = run.second
    assert second is not None
    maps = collect(lambda: PairSource(run.example_source(), second.source(())), ExampleCollector).maps
    rows = [row for result in results for row in _rows(run, result, maps, matched)]
    return COMPARE_EXAMPLES.frame(rows)


def _rows(
    run: ModelRun, result: HeadChanges, maps: Sequence[ExampleMaps], matched: bool
) -> Iterator[dict[str, object]]:
    assert run.second is not None
    both = list(
        zip(*([each for each in maps if each.kind == kind] for kind in (result.kind, SECOND + result.other_kind)))
    )
    tokenizers = run.loaded.tokenizer, run.second.loaded.tokenizer
    for pair in np.argsort(result.change.value * (1 if matched else -1), kind="stable")[:MOST_PAIRS]:
        (layer, head), (other_layer, other_head) = result.first[pair].tolist(), result.second[pair].tolist()
        drawn = [(here.weights[layer, head], there.weights[other_layer, other_head]) for here, there in both]
        order = np.argsort([-_divergence(*weights) for weights in drawn], kind="stable")[:MOST_SENTENCES]
        for rank, number in enumerate(order.tolist(), 1):
            sides: dict[str, object] = {}
            for prefix, side, tokenizer, weights in zip(("", "other_"), both[number], tokenizers, drawn[number]):
                sides |= {
                    f"{prefix}tokens": readable_tokens(tokenizer, side.queries),
                    f"{prefix}keys": readable_tokens(tokenizer, side.keys),
                    f"{prefix}weights": weights.ravel().astype(float).tolist(),
                }
            of_head = {"kind": result.kind, "layer": layer + 1, "head": head + 1, "rank": rank}
            yield {**of_head, "document": both[number][0].document, "segment": both[number][0].segment, **sides}


def _divergence(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the mean divergence over rows; 0 where the tokens of the two models differ in number."""
    if first.shape != second.shape:
        return 0.0
    left, right = (torch.from_numpy(np.ascontiguousarray(each))[None] for each in (first, second))
    return float(in_order(left, right)) / len(first)
