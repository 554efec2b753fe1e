"""Which heads a probe listens to: the weight it gives each, in both directions."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.analyses.probes.data.tree_sentences import TreeSentence
from headscope.analyses.probes.parsers.attention_probe import DIRECTIONS, AttentionProbe, AttentionWordsProbe
from headscope.attention.head_id import HeadId

WEIGHT_COLUMNS = ["probe", "kind", "layer", "head", "direction", "weight"]


def attention_weights(probe: AttentionProbe, runs: Sequence[int]) -> NDArray[np.float64]:
    """Return the weight of each head, the mean over runs, `[direction, head]`."""
    chosen: NDArray[np.float64] = probe.weights.detach()[list(runs)].mean(0).double().cpu().numpy()
    return chosen


@torch.no_grad()
def mean_word_weights(
    probe: AttentionWordsProbe,
    runs: Sequence[int],
    sentences: Iterable[TreeSentence],
    words: Iterable[NDArray[np.int64]],
) -> NDArray[np.float64]:
    """Return the weight of each head, the mean over runs and over the gold arcs between words, `[direction, head]`.

    The weight is linear in the two vectors: its mean is that of the mean vectors.

    Args:
        probe: trained.
        runs: which of its runs.
        sentences: the trees.
        words: number of each word's type, `[word]` for each sentence.
    """
    heads, dependents = [], []
    for sentence, own in zip(sentences, words, strict=True):
        arcs = sentence.heads > 0
        heads.append(own[sentence.heads[arcs] - 1])
        dependents.append(own[arcs])
    means = [
        probe.vectors[torch.from_numpy(np.concatenate(side)).to(probe.vectors.device)].double().mean(0)
        for side in (heads, dependents)
    ]
    weights = probe.weights.double()
    given = sum(torch.einsum("w,rdwk->rdk", mean, weights[:, role]) for role, mean in enumerate(means))
    found: NDArray[np.float64] = (given + probe.bias.double())[list(runs)].mean(0).cpu().numpy()
    return found


def weight_rows(probe: str, weights: NDArray[np.float64], heads: Sequence[HeadId]) -> pd.DataFrame:
    """Return the rows of `probe_weights.parquet` for one probe.

    Args:
        probe: its name in tables.
        weights: `[direction, head]`.
        heads: names of the heads, in the order of the weights.
    """
    rows = [
        (probe, head.kind, head.layer, head.head, direction, float(weights[place, at]))
        for at, head in enumerate(heads)
        for place, direction in enumerate(DIRECTIONS)
    ]
    return pd.DataFrame(rows, columns=WEIGHT_COLUMNS)
