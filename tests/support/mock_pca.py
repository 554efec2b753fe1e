"""Made-up principal directions of heads: shares of the first two, and positions of tokens on the maps."""

import numpy as np

from headscope.analyses.pca.sums import SIDES
from headscope.analyses.pca.tables import EFFECTIVE, MAP, PCA_TABLE, SHARE_NAMES, TOKENS
from support.measured import with_parts
from support.stand_ins import table_of

WORDS = ("the", "cat", ",", "sat", "on", "a", "mat", "and", "slept", "!")
CLASS_OF = {",": "period_comma", "!": "other_punctuation"}


def with_pca(inputs, *, tokens=12, words=WORDS, layers=None, seed=5):
    """Add the directions of every head to a run, and maps of some tokens; `layers` restricts them to some layers."""
    rng = np.random.default_rng(seed)
    shares, places, drawn = [], [], []
    for entry in inputs.manifest["kinds"]:
        axes = ("row", "key") if entry["kind"] == "cross" else ("row",)
        for axis in axes:
            for token in range(1, tokens + 1):
                at = (3 * token) % len(words)
                drawn.append(
                    {
                        **{"kind": entry["kind"], "axis": axis, "token": token, "document": "made-up"},
                        **{"segment": token, "position": 7 * token + at, "start": 7 * token},
                        "token_class": CLASS_OF.get(words[at], "other"),
                        "tokens": list(words),
                        "continues_word": [],
                    }
                )
        heads = np.indices((entry["layers"], entry["heads"])).reshape(2, -1).T + 1
        for layer, head in heads.tolist():
            for side in SIDES if layers is None or layer in layers else ():
                place = {"kind": entry["kind"], "layer": layer, "head": head, "vectors": side}
                told = {EFFECTIVE: 9.0, SHARE_NAMES[0]: 0.41, SHARE_NAMES[1]: 0.17}
                shares += [
                    {**place, "statistic": name, "value": value, "n_tokens": 900} for name, value in told.items()
                ]
                where = rng.normal(size=(tokens, 2)) * [3, 1]
                places += [
                    {
                        **place,
                        "token": token + 1,
                        "first": where[token, 0],
                        "second": where[token, 1],
                        "length": 4.0 + float(np.hypot(*where[token])),
                    }
                    for token in range(tokens)
                ]
    return with_parts(
        inputs, pca=table_of(PCA_TABLE, shares), pca_map=table_of(MAP, places), pca_tokens=table_of(TOKENS, drawn)
    )
