"""The weights that a probe gives the heads, as a table, in both directions."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.probes.data.tree_sentences import TreeSentence
from headscope.analyses.probes.parsers.attention_probe import DIRECTIONS
from headscope.analyses.probes.tables import PROBE_WEIGHTS
from headscope.attention.head_id import HeadId


def gold_arcs(
    sentences: Iterable[TreeSentence], words: Iterable[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the word types of the head and of the dependent of every arc between words, `[arc]` each.

    Args:
        sentences: the trees.
        words: index of each word's type, `[word]` for each sentence.
    """
    heads, dependents = [], []
    for sentence, types in zip(sentences, words, strict=True):
        arcs = sentence.heads > 0
        heads.append(types[sentence.heads[arcs] - 1])
        dependents.append(types[arcs])
    return np.concatenate(heads), np.concatenate(dependents)


def weight_rows(probe: str, weights: NDArray[np.float64], heads: Sequence[HeadId]) -> pd.DataFrame:
    """Return the rows of `probe_weights.parquet` for one probe.

    Args:
        probe: name of the probe in tables.
        weights: `[direction, head]`.
        heads: names of the heads, in the order of the weights.
    """
    rows = [
        (probe, head.kind, head.layer, head.head, direction, float(weights[row, at]))
        for at, head in enumerate(heads)
        for row, direction in enumerate(DIRECTIONS)
    ]
    return pd.DataFrame(rows, columns=PROBE_WEIGHTS.names)
