"""The differences between two probes, word by word on the same documents."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from headscope.analyses.probes.score_rows import GoldWords, ProbeAnswers
from headscope.analyses.probes.tables import PROBE_DIFFERENCES
from headscope.statistics.inference.confidence import difference_interval, ends_of

_MEASURE = "UAS"


def probe_differences(answers: Sequence[ProbeAnswers], gold: GoldWords) -> pd.DataFrame:
    """Return `probe_differences.parquet`: UAS of each probe minus UAS of each other probe, means over seeds.

    Args:
        answers: the answers of all probes on the same words.
        gold: the words that were scored.
    """
    groups, size = gold.groups[gold.counted], gold.number_of_groups
    words = np.bincount(groups, minlength=size)
    right = [np.bincount(groups, answer.right[_MEASURE].mean(0)[gold.counted], size) for answer in answers]
    rows = []
    for (first, ours), (second, theirs) in combinations(zip(answers, right, strict=True), 2):
        gap = difference_interval(ours, words, theirs, words, answers=True)
        names = (first.probe, first.model, second.probe, second.model, _MEASURE)
        rows.append((*names, int(words.sum()), *ends_of(gap, (), "difference").values()))
    return pd.DataFrame(rows, columns=PROBE_DIFFERENCES.names)
