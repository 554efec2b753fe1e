"""Made-up gradient importance of a made-up run: the first token matters least, and deep layers less."""

from dataclasses import replace

import numpy as np
import pandas as pd

FACTOR = {"cls": 0.1, "sep": 0.8, "punctuation": 0.95, "other": 1.0}
CLASSES = tuple(FACTOR)


def with_importance(inputs, *, seed=0, absent=(), factor=FACTOR, intervals=True, segments=200):
    """Return the run with a table of importance; classes in `absent` cannot occur."""
    rng = np.random.default_rng(seed)
    rows = []
    for part in inputs.manifest["kinds"]:
        for layer in range(1, part["layers"] + 1):
            for measure, size in (("gradient", 0.012), ("weight_times_gradient", 0.0003)):
                for name in CLASSES:
                    own = size * 0.8 ** (layer - 1) * factor[name]
                    heads = own * np.exp(rng.normal(scale=0.3, size=part["heads"]))
                    for head, value in [*enumerate(heads, 1), (None, heads.mean())]:
                        told = {"kind": part["kind"], "layer": layer, "head": head}
                        told |= {"measure": measure, "key_class": name}
                        if name in absent:
                            told |= {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "n": 0}
                        else:
                            low, high = (0.97 * value, 1.03 * value) if intervals else (np.nan, np.nan)
                            told |= {"value": value, "ci_low": low, "ci_high": high, "n": segments}
                        rows.append(told)
    table = pd.DataFrame(rows)
    table["head"] = table["head"].astype("Int64")
    facts = {"loss": "mlm", "segments": segments, "targets": 9 * segments, "nothing_to_predict": 0}
    told = {**inputs.manifest, "importance": {**facts, "loss_mean": 3.456}}
    return replace(inputs, importance=table, manifest=told)
