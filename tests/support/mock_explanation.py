"""Made-up explanations of heads: the farther a head, the less of it is explained."""

import numpy as np

from headscope.analyses.explanation.tables import EXPLANATION, EXPLANATION_GROUPS
from support.measured import with_parts
from support.stand_ins import table_of


def explained_share(layer, head):
    return round(0.9 - 0.05 * layer - 0.01 * head, 4)


def with_explanation(inputs):
    """Add the explanation of every head to a run, with one group each."""
    rows, groups = [], []
    for entry in inputs.manifest["kinds"]:
        heads = np.indices((entry["layers"], entry["heads"])).reshape(2, -1).T + 1
        for layer, head in heads.tolist():
            for model, share in (("trained", explained_share(layer, head)), ("control", 0.02)):
                of = {
                    "kind": entry["kind"],
                    "layer": layer,
                    "head": head,
                    "measure": "weight",
                    "model": model,
                }
                ends = {"ci_low": share - 0.02, "ci_high": share + 0.02}
                text = f"{100 * share:.0f}% explained: attends to [CLS] ({100 * share:.0f})"
                more = {"to_explain": 1.5, "wrong": 0.1, "sentence": text, "n_rows": 500, "n_documents": 40}
                rows.append({**of, "explained": share, **ends, **more})
                groups.append(
                    {
                        **of,
                        "group": "cls",
                        "rank": 1,
                        "share": share,
                        **ends,
                        "exchangeable": "",
                        "halves": 2,
                    }
                )
    return with_parts(
        inputs,
        explanation=table_of(EXPLANATION, rows),
        explanation_groups=table_of(EXPLANATION_GROUPS, groups),
    )
