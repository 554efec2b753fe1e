"""A made-up comparison of a made-up run with another model."""

import numpy as np

from headscope.analyses.compare.tables import COMPARE_GROUPS, HEAD_CHANGES, MEASURE_CHANGES
from support.measured import with_parts
from support.stand_ins import table_of


def with_comparison(inputs, *, verdicts=("changed", "same", "undecided"), match=None, intervals=True):
    """Return the run with a comparison in which heads get the verdicts in turn.

    Args:
        inputs: the run.
        verdicts: verdicts of the heads; None for a head without a test.
        match: whether each head has a match; None for heads of one number.
        intervals: whether changes have intervals.
    """
    size = {"changed": 0.2, "same": 0.001, "undecided": 0.01, None: 0.1}
    rows, differences, groups = [], [], []
    for part in inputs.manifest["kinds"]:
        heads = [(layer, head) for layer in range(1, part["layers"] + 1) for head in range(1, part["heads"] + 1)]
        for number, (layer, head) in enumerate(heads):
            verdict = verdicts[number % len(verdicts)]
            change = size[verdict] * (1 + number / 100)
            names = {"kind": part["kind"], "layer": layer, "head": head}
            names |= {"other_kind": part["kind"], "other_layer": layer, "other_head": head}
            low, high = (0.9 * change, 1.1 * change) if intervals else (np.nan, np.nan)
            rows.append(
                {
                    **names,
                    **{"change": change, "ci_low": low, "ci_high": high, "verdict": verdict, "random_divergence": 0.5},
                    **{"match": match, "n_rows": 900, "n_documents": 40},
                }
            )
            for statistic, by in (("stats.sep", -0.31), ("stats.previous", 0.28), ("stats.entropy", 0.4)):
                differences.append(
                    {
                        **names,
                        **{"column": statistic, "first": 0.5, "second": 0.5 + by, "difference": by},
                        **{"ci_low": by - 0.01, "ci_high": by + 0.01, "q_value": 0.001, "n_documents": 40},
                    }
                )
            for group, first, second, gained in (("sep", 0.6, 0.0, "lost"), ("previous", 0.002, 0.5, "gained")):
                by = second - first
                groups.append(
                    {
                        **names,
                        **{"group": group, "first": first, "second": second, "difference": by},
                        **{"ci_low": by - 0.01, "ci_high": by + 0.01, "q_value": 0.001},
                        **{"verdict": gained if verdict == "changed" else None, "n_documents": 40},
                    }
                )
    shapes = {part["kind"]: [part["layers"], part["heads"]] for part in inputs.manifest["kinds"]}
    facts = {"other": "tuned", "matched": match is not None, "by_word": False, "margin": 0.01, "shapes": shapes}
    tables = {"head_changes": table_of(HEAD_CHANGES, rows), "measure_changes": table_of(MEASURE_CHANGES, differences)}
    tables |= {"compare_groups": table_of(COMPARE_GROUPS, groups)}
    return with_parts(inputs, manifest={**inputs.manifest, "compare": facts}, **tables)
