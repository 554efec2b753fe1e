"""Made-up rows of heads: deciles, and a few rows of every decile with words."""

import numpy as np
import pandas as pd

from headscope.analyses.distribution.sums import DECILES
from headscope.analyses.distribution.tables import DISTRIBUTION, EXAMPLES, NAMES
from support.measured import with_parts
from support.stand_ins import table_of

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "slept")


def with_distribution(inputs, *, known=NAMES, shown=2, words=WORDS, joined=(), sink=False):
    """Add the deciles of every head's rows to a run, and examples of every decile.

    Args:
        inputs: the run.
        known: measures with values; the others are missing.
        shown: number of example rows of each decile.
        words: words of the examples.
        joined: positions of words that continue the previous word.
        sink: whether the first example of each decile attends to a learned sink.
    """
    rng = np.random.default_rng(4)
    rows, examples = [], []
    for entry in inputs.manifest["kinds"]:
        heads = np.indices((entry["layers"], entry["heads"])).reshape(2, -1).T + 1
        for layer, head in heads.tolist():
            place = {"kind": entry["kind"], "layer": layer, "head": head}
            for name in NAMES:
                cuts = np.sort(rng.beta(1, 2, len(DECILES)))
                for decile, value in zip(DECILES, cuts):
                    cell = {"value": value, "ci_low": 0.9 * value, "ci_high": min(1.1 * value, 1.0), "n_rows": 900}
                    cell = cell if name in known else {"n_rows": 0}
                    rows.append({**place, "measure": name, "decile": decile, **cell})
            measure = "output_norm" if "output_norm" in known else "non_sink"
            for decile in range(1, 11):
                for rank in range(1, shown + 1):
                    at = int(rng.integers(1, len(words)))
                    looked = {} if sink and rank == 1 else {"key": 20 + at - 1, "key_token": words[at - 1]}
                    examples.append(
                        {
                            **place,
                            **{"measure": measure, "decile": decile, "rank": rank, "value": decile / 10 - 0.05},
                            **{"document": "made-up", "segment": 0, "row": 20 + at, "weight": 0.5, "start": 20},
                            **{"tokens": list(words), "continues_word": list(joined), **looked},
                        }
                    )
    return with_parts(
        inputs, distribution=table_of(DISTRIBUTION, rows), distribution_examples=table_of(EXAMPLES, examples)
    )


def empty_examples() -> pd.DataFrame:
    """A table of examples without rows."""
    return pd.DataFrame(columns=EXAMPLES.names)
