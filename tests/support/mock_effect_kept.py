"""Made-up effects that explanations keep, for the heads of a made-up run."""

import numpy as np

from headscope.analyses.effects.tables import EFFECT_KEPT
from support.measured import with_parts
from support.mock_explanation import explained_share
from support.stand_ins import table_of

INPUTS = 48


def kept_rows(kind, layer, head, *, uniform, kept, width=0.1, intervals=True):
    """Yield the rows of heads whose explanation keeps a share of the cost of uniform attention; positions cost half."""
    explained, positions = (1 - kept) * uniform, uniform / 2
    known = intervals and uniform > 0.001
    numbers = {
        "added_uniform": (uniform, 0.001),
        "added_explained": (explained, 0.001),
        "added_positions": (positions, 0.001),
        "kept": (kept if known else np.nan, width),
        "over_positions": (1 - explained / positions if known else np.nan, width),
    }
    for measure, (value, reach) in numbers.items():
        ends = {"ci_low": value - reach, "ci_high": value + reach} if intervals else {}
        of = {"kind": kind, "layer": layer, "head": head, "measure": measure}
        yield {**of, "value": value, **ends, "n_inputs": INPUTS}


def with_effect_kept(inputs, *, kept=None, intervals=True, loss="mlm"):
    """Return the run with its table of kept effects.

    Args:
        inputs: the run.
        kept: kept share of some heads, by layer and head; the others keep their explained share.
        intervals: whether there are enough documents for intervals.
        loss: name of the loss.
    """
    rows = []
    for part in inputs.manifest["kinds"]:
        heads = [(layer, head) for layer in range(1, part["layers"] + 1) for head in range(1, part["heads"] + 1)]
        for layer, head in heads:
            uniform = 0.0 if (layer, head) == (1, 1) else 0.1 / (layer + head)
            keeps = (kept or {}).get((layer, head), explained_share(layer, head))
            rows += kept_rows(part["kind"], layer, head, uniform=uniform, kept=keeps, intervals=intervals)
        for layer in range(1, part["layers"] + 1):
            rows += kept_rows(part["kind"], layer, None, uniform=0.3, kept=0.8, intervals=intervals)
    rows += kept_rows(None, None, None, uniform=5.4, kept=0.96, width=0.01, intervals=intervals)
    facts = {"loss": loss, "loss_mean": 4.44, "segments": INPUTS, "targets": 9 * INPUTS, "passes": 71.5}
    manifest = {**inputs.manifest, "effect_kept": facts}
    return with_parts(inputs, effect_kept=table_of(EFFECT_KEPT, rows), manifest=manifest)
