"""Which of two probes finds more heads, word by word on the same documents."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from headscope.analyses.probes.score_rows import GoldWords, ProbeAnswers
from headscope.analyses.probes.tables import PROBE_DIFFERENCES
from headscope.statistics.confidence import difference_interval, ends_of

_MEASURE = "UAS"


def probe_differences(found: Sequence[ProbeAnswers], gold: GoldWords) -> pd.DataFrame:
    """Return `probe_differences.parquet`: UAS of each probe less that of each other, means over seeds.

    Args:
        found: what all probes answered, of the same words.
        gold: the words that were asked about.
    """
    asked = np.bincount(gold.groups[gold.counted], minlength=gold.number_of_groups)
    right = [
        np.bincount(
            gold.groups[gold.counted],
            weights=one.right[_MEASURE].mean(0)[gold.counted],
            minlength=gold.number_of_groups,
        )
        for one in found
    ]
    rows = []
    for one, other in combinations(range(len(found)), 2):
        gap = difference_interval(right[one], asked, right[other], asked, answers=True)
        rows.append(
            {
                "probe": found[one].probe,
                "model": found[one].model,
                "than_probe": found[other].probe,
                "than_model": found[other].model,
                "measure": _MEASURE,
                "n": int(asked.sum()),
                **ends_of(gap, (), "difference"),
            }
        )
    return pd.DataFrame(rows, columns=PROBE_DIFFERENCES.names)
