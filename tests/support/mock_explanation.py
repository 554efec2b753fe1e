"""Made-up explanations of heads, whose explained share falls with layer and head, and example rows of each head."""

import numpy as np

from headscope.analyses.explanation.tables import EXPLANATION, EXPLANATION_EXAMPLES, EXPLANATION_GROUPS
from headscope.present.numbers import percent
from support.measured import with_parts
from support.stand_ins import table_of

WORDS = ("[CLS]", "the", "w", "ished", "end")
POSITIONS = (0, 7, 8, 9, 12)
ATTENTION, PREDICTED = (0.1, 0.05, 0.6, 0.2, 0.0), (0.55, 0.05, 0.2, 0.1, 0.0)


def example_rows(of, words):
    """Yield the best-predicted row and the two worst; the last row's attending token is not among the shown tokens."""
    for prediction, rank, explained in (("best", 1, 0.97), ("worst", 1, -0.5), ("worst", 2, 0.1)):
        predicted = ATTENTION if prediction == "best" else PREDICTED
        yield {
            **{"corpus": "text", "kind": of["kind"], "layer": of["layer"], "head": of["head"]},
            **{"prediction": prediction, "rank": rank, "explained": explained, "to_explain": 2.5},
            **{"document": "made-up", "segment": 0, "row": 30 if rank == 2 else 9, "row_token": words[3]},
            **{"positions": list(POSITIONS), "tokens": list(words), "continues_word": [3]},
            **{"attention": list(ATTENTION), "predicted": list(predicted)},
        }


def explained_share(layer, head):
    return round(0.9 - 0.05 * layer - 0.01 * head, 4)


def with_explanation(inputs, *, words=WORDS, annotated=(), sentences=None):
    """Add the explanation of every head to a run, with one group and three rows of these words each.

    Args:
        inputs: the run.
        words: words of the rows.
        annotated: further corpora in which heads are explained, with the other sentence.
        sentences: sentences of some heads on the text, by layer and head, in place of the default.
    """
    rows, groups, examples = [], [], []
    for entry in inputs.manifest["kinds"]:
        heads = np.indices((entry["layers"], entry["heads"])).reshape(2, -1).T + 1
        for layer, head in heads.tolist():
            share = explained_share(layer, head)
            of_text = [("text", "trained", share), ("text", "control", 0.02)]
            for corpus, model, share in (*of_text, *((corpus, "trained", share) for corpus in annotated)):
                of = {
                    "corpus": corpus,
                    "kind": entry["kind"],
                    "layer": layer,
                    "head": head,
                    "measure": "weight",
                    "model": model,
                }
                ends = {"ci_low": share - 0.02, "ci_high": share + 0.02}
                target = "[CLS]" if corpus == "text" else "the direct object of a verb"
                other = (sentences or {}).get((layer, head)) if corpus == "text" else None
                text = other or f"Attends to {target} ({percent(share)}); {percent(share)} predicted"
                more = {"to_explain": 1.5, "wrong": 0.1, "sentence": text, "n_rows": 500, "n_documents": 40}
                rows.append({**of, "explained": share, **ends, **more, "uniform": 4.0, "mass": 1.0})
                if corpus == "text" and model == "trained":
                    off_sink = {**of, "measure": "non_sink"}
                    rows.append({**off_sink, "explained": share, **ends, **more, "uniform": 4.0, "mass": 0.4})
                    parts = {"group": "previous", "rank": 1, "share": share, **ends, "halves": 2}
                    groups.append({**off_sink, **parts, "alternatives": "", "words": "", "attending": ""})
                if corpus == "text" and model == "trained":
                    examples += example_rows(of, words)
                groups.append(
                    {
                        **of,
                        "group": "cls" if corpus == "text" else "dependents",
                        "rank": 1,
                        "share": share,
                        **ends,
                        **{"alternatives": "", "words": "", "attending": ""},
                        "halves": 2,
                    }
                )
    return with_parts(
        inputs,
        explanation=table_of(EXPLANATION, rows),
        explanation_groups=table_of(EXPLANATION_GROUPS, groups),
        explanation_examples=table_of(EXPLANATION_EXAMPLES, examples),
    )
