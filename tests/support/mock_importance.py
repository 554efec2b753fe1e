"""Made-up gradient importance of a made-up run: deep layers matter less, and the two measures may disagree."""

import numpy as np

from headscope.analyses.importance.tables import IMPORTANCE, IMPORTANCE_DIFFERENCES
from support.measured import with_parts
from support.stand_ins import table_of

FACTOR = {"cls": 0.1, "sep": 0.8, "period_comma": 0.95, "other": 1.0}
CLASSES = tuple(FACTOR)


def with_importance(inputs, *, seed=0, absent=(), factor=FACTOR, weighted=None, intervals=True, segments=200, even=()):
    """Return the run with its tables of importance; a head's gate is half of its first gradient.

    Classes in `absent` cannot occur. `factor` is each class's size relative to other tokens, and `weighted` the same
    for weight x gradient, if different. `even` lists pairs of measure and class whose interval of the difference
    contains 0.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for part in inputs.manifest["kinds"]:
        for layer in range(1, part["layers"] + 1):
            for measure, size in (("gradient", 0.012), ("weight_times_gradient", 0.0003)):
                for name in CLASSES:
                    large = (weighted or factor) if measure == "weight_times_gradient" else factor
                    own = size * 0.8 ** (layer - 1) * large[name]
                    heads = own * np.exp(rng.normal(scale=0.3, size=part["heads"]))
                    for head, value in [*enumerate(heads, 1), (None, heads.mean())]:
                        told = {"kind": part["kind"], "layer": layer, "head": head}
                        told |= {"measure": measure, "key_class": name}
                        if name in absent:
                            told |= {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "n_inputs": 0}
                        else:
                            low, high = (0.97 * value, 1.03 * value) if intervals else (np.nan, np.nan)
                            told |= {"value": value, "ci_low": low, "ci_high": high, "n_inputs": segments}
                        rows.append(told)
                        if name == CLASSES[0] and measure == "gradient":
                            rows.append(
                                {
                                    **told,
                                    "measure": "gate",
                                    "key_class": None,
                                    **_gate(value, intervals),
                                    "n_inputs": segments,
                                }
                            )
    table = table_of(IMPORTANCE, rows)
    differences = _differences(table, intervals, even)
    facts = {"loss": "mlm", "segments": segments, "targets": 9 * segments, "nothing_to_predict": 0}
    told = {**inputs.manifest, "importance": {**facts, "loss_mean": 3.456}}
    return with_parts(inputs, importance=table, importance_differences=differences, manifest=told)


def _gate(gradient, intervals):
    value = gradient / 2
    low, high = (0.9 * value, 1.1 * value) if intervals else (np.nan, np.nan)
    return {"value": value, "ci_low": low, "ci_high": high}


def _differences(table, intervals, even):
    """Return each class's value minus that of other tokens, in the layers' means."""
    means = table[table["head"].isna() & (table["measure"] != "gate")]
    keys = ["kind", "layer", "measure"]
    other = means[means["key_class"] == "other"].set_index(keys)["value"]
    rows = means[means["key_class"] != "other"].copy()
    rows["difference"] = rows["value"] - other.loc[list(rows[keys].itertuples(index=False, name=None))].to_numpy()
    near = [(measure, name) in even for measure, name in zip(rows["measure"], rows["key_class"])]
    width = rows["difference"].abs() * np.where(near, 1.5, 0.2)
    rows["ci_low"], rows["ci_high"] = rows["difference"] - width, rows["difference"] + width
    if not intervals:
        rows[["ci_low", "ci_high"]] = np.nan
    return table_of(IMPORTANCE_DIFFERENCES, rows[IMPORTANCE_DIFFERENCES.names].to_dict("records"))
