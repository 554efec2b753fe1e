"""Made-up effects of the heads of a made-up run: a few large, most small, one below 0."""

import numpy as np

from headscope.analyses.effects.estimates import estimates_table
from headscope.analyses.effects.tables import EFFECTS
from support.measured import with_parts
from support.stand_ins import table_of

INPUTS = 96


def added_loss(layer, head, heads):
    """Return a head's effect, which halves from head to head and is negative for the last head of even layers."""
    number = (layer - 1) * heads + head - 1
    return -0.04 if head == heads and layer % 2 == 0 else 0.2 * 0.5**number


def estimate(value, head):
    """Return the first-order estimate: wrong sign and a fifth for every third head, four fifths for the others."""
    return -value / 5 if head % 3 == 0 else 0.8 * value


def with_effects(inputs, *, intervention="mean", intervals=True, width=0.002, loss="mlm", direct=False, gradient=True):
    """Return the run with its table of effects; an effect is found if its interval excludes 0.

    With `direct` it has effects on logits: a head's direct effect is 3 times its loss, of which later layers
    compensate a third, and heads of odd numbers copy.
    """
    rows = []
    for part in inputs.manifest["kinds"]:
        for layer, head in np.ndindex(part["layers"], part["heads"]):
            of = {"kind": part["kind"], "layer": layer + 1, "head": head + 1, "intervention": intervention}
            value = added_loss(layer + 1, head + 1, part["heads"])
            measures = [("loss", value), ("kl", abs(value) / 3)]
            if gradient:
                measures += [("attribution", estimate(value, head + 1)), ("gate", abs(value) + 0.01)]
            if direct:
                measures += [("logit", 2 * value), ("direct", 3 * value)]
                measures += [("compensation", value)] if intervention == "zero" else []
                measures += [("copying", 0.1 if head % 2 == 0 else -0.1), ("ov_copying", 0.5)]
            for measure, number in measures:
                without = not intervals or measure == "ov_copying"
                low, high = (np.nan, np.nan) if without else (number - width, number + width)
                q = 0.001 if low > 0 or high < 0 else 0.4
                rows.append(
                    {
                        **of,
                        "measure": measure,
                        "value": number,
                        "ci_low": max(low, 0.0) if measure in ("kl", "gate") else low,
                        "ci_high": high,
                        "q_value": q if measure == "loss" and intervals else np.nan,
                        "n_inputs": INPUTS,
                    }
                )
    facts = {"loss": loss, "loss_mean": 3.456, "segments": INPUTS, "targets": 9 * INPUTS}
    facts |= {
        "intervention": intervention,
        "passes": 43.0,
        "backward_passes": 1,
        "documents_needed": 91,
        "nothing_to_predict": 0,
    }
    facts["heads"] = sum(part["layers"] * part["heads"] for part in inputs.manifest["kinds"])
    facts["no_gradient"] = "" if gradient else "no gradient passes through its QuantLinear"
    facts |= dict.fromkeys(("no_direct", "no_ov"), "" if direct else "direct effects are of decoders alone")
    manifest = {**inputs.manifest, "effects": facts}
    effects = table_of(EFFECTS, rows)
    return with_parts(inputs, effects=effects, effect_estimates=estimates_table(effects), manifest=manifest)
