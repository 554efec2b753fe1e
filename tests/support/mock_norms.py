"""Made-up output norms of a made-up run: the first head of every layer is inactive, the second has the largest norm."""

import numpy as np

from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, INACTIVE_BELOW, KEY_CLASSES, NORMS, OUTPUT, VALUE
from support.measured import with_parts
from support.stand_ins import table_of


def with_norms(inputs, *, resting=0.1, intervals=True, absent=()):
    """Return the run with its table of output norms.

    The first head of every layer has `resting` times the output norm of its layer's mean; kinds in `absent` have no
    values.
    """
    rows = []
    for part in inputs.manifest["kinds"]:
        heads = part["heads"]
        factors = np.ones(heads)
        if heads > 1:
            factors[0], factors[1] = resting, 2.0 - resting
        for layer in range(1, part["layers"] + 1):
            for name, key_class, size in (
                (OUTPUT, None, 3.0),
                (IN_LAYER, None, 1.0),
                (IN_STREAM, None, 0.2),
                *((VALUE, one, 2.0 + place) for place, one in enumerate(KEY_CLASSES)),
            ):
                own = [(head, size * factor) for head, factor in enumerate(factors, 1)]
                means = [] if name == IN_LAYER else [(None, size)]
                for head, value in [*own, *means]:
                    known = part["kind"] not in absent
                    low, high = (0.9 * value, 1.1 * value) if known and intervals else (np.nan, np.nan)
                    told = {"kind": part["kind"], "layer": layer, "head": head, "statistic": name}
                    told |= {"key_class": key_class, "value": value if known else np.nan}
                    said = None if name != IN_LAYER or np.isnan(high) else high < INACTIVE_BELOW
                    rows.append(
                        told | {"ci_low": low, "ci_high": high, "n_inputs": 200 if known else 0, "inactive": said}
                    )
    return with_parts(inputs, norms=table_of(NORMS, rows))
