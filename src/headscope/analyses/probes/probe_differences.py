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
    """Return `probe_differences.parquet`: UAS of each probe less that of each other, means over seeds.

    Args:
        answers: the answers of all probes on the same words.
        gold: the words that were scored.
    """
    words = np.bincount(gold.groups[gold.counted], minlength=gold.number_of_groups)
    right = [
        np.bincount(
            gold.groups[gold.counted],
            weights=answer.right[_MEASURE].mean(0)[gold.counted],
            minlength=gold.number_of_groups,
        )
        for answer in answers
    ]
    rows = []
    for first, second in combinations(range(len(answers)), 2):
        gap = difference_interval(right[first], words, right[second], words, answers=True)
        rows.append(
            {
                "probe": answers[first].probe,
                "model": answers[first].model,
                "than_probe": answers[second].probe,
                "than_model": answers[second].model,
                "measure": _MEASURE,
                "n_cases": int(words.sum()),
                **ends_of(gap, (), "difference"),
            }
        )
    return pd.DataFrame(rows, columns=PROBE_DIFFERENCES.names)
