"""Made-up coreference tables in the shape of real ones."""

import numpy as np

from headscope.analyses.coref.tables import COREF, COREF_EXAMPLES, COREF_HEADS, GAP
from support.measured import with_parts
from support.mock_differences import coref_differences
from support.mock_syntax import arc_row, ends
from support.stand_ins import table_of

TYPES = {"all": 2310, "pronoun": 1320, "proper": 380, "nominal": 610}
# system, selection, (all, pronoun, proper, nominal)
SYSTEMS = [
    ("head", "held-out", (0.652, 0.688, 0.71, 0.538)), ("head", "same-data", (0.661, 0.694, 0.716, 0.551)),
    ("nearest", None, (0.402, 0.471, 0.342, 0.29)), ("head match", None, (0.418, 0.352, 0.66, 0.41)),
    ("head match, else nearest", None, (0.61, 0.601, 0.72, 0.561)), ("rules", None, (0.668, 0.671, 0.772, 0.597)),
]  # fmt: skip
WINDOWS = [
    ("the mayor of the old town greeted the visitors , and she thanked them for coming", [(11, 1), (13, 8)]),
    ("anna told her brother that he could borrow the bicycle until she returned", [(2, 0), (5, 3), (11, 0)]),
    ("the lawyer said that the attorney general would not see him before june", [(10, 1)]),
]


def with_coreference(inputs, *, documents=40, gap=True, special=("[CLS]", "[SEP]"), place=(4, 7)):
    """Add coreference tables to a run; `place` is the best head."""
    rng = np.random.default_rng(9)
    entry = inputs.manifest["kinds"][0]
    layer, head = (place[0] - 1) % entry["layers"] + 1, (place[1] - 1) % entry["heads"] + 1
    kind = entry["kind"]
    rows = []
    for system, selection, values in SYSTEMS:
        own = (kind, layer, head, 0.93 if selection == "held-out" else None)
        named = own if system == "head" else (None, None, None, None)
        for (mention, n), value in zip(TYPES.items(), values):
            model = "trained" if system == "head" else "baseline"
            held = value - 0.004 if selection == "held-out" else np.nan
            rows.append(
                (model, None, selection, system, *named, mention, n, value, *ends(value, n, documents),
                 held + 0.01, *ends(held + 0.01, n, documents), held, *ends(held, n, documents), np.nan)
            )  # fmt: skip
    for seed in range(3):
        for mention, n in TYPES.items():
            value = rng.uniform(0.2, 0.3)
            rows.append(("control", seed, "held-out", "head", kind, 1, 2 + seed, 0.4, mention, n, value,
                         *ends(value, n, documents), value + 0.01, np.nan, np.nan, value, *ends(value, n, documents),
                         np.nan))  # fmt: skip
    table = table_of(COREF, rows)
    arcs = [
        arc_row(kind, layer, head, "dependent->head", "coreference", text.split(), pairs, at < 2, special, rng, at)
        for at, (text, pairs) in enumerate(WINDOWS)
    ]
    roles = inputs.roles.copy()
    if "finds" not in roles:
        roles["finds"] = [[] for _ in range(len(roles))]
    roles["finds"] = [
        [*found, "coreference"] if (k, a, b) == (kind, layer, head) else list(found)
        for k, a, b, found in zip(roles["kind"], roles["layer"], roles["head"], roles["finds"])
    ]
    return with_parts(
        inputs,
        manifest={**inputs.manifest, "coreference": coreference_manifest(documents)},
        roles=roles,
        coref=table,
        coref_differences=coref_differences(table),
        coref_heads=_heads(inputs.manifest["kinds"], (layer, head), rng, documents),
        gap=_gap(kind, layer, head, documents) if gap else None,
        coref_examples=table_of(COREF_EXAMPLES, arcs),
    )


def coreference_manifest(documents):
    return {
        "name": "litbank", "documents": documents, "windows": 1630, "mentions": 5120, "counted": 2310, "lost": 1404,
        "lost_why": {"antecedent outside its window": 1311, "cut by a window's end": 93},
        "head_rule": {"from": "rule", "n_mentions": 4800, "agreement": 0.943},
    }  # fmt: skip


def _heads(kinds, best, rng, documents):
    rows = []
    for entry in kinds:
        if entry["kind"] == "cross":
            continue
        for layer in range(1, entry["layers"] + 1):
            for head in range(1, entry["heads"] + 1):
                base = 0.655 if (layer, head) == best and entry is kinds[0] else rng.beta(4, 9)
                for mention, n in TYPES.items():
                    value = float(np.clip(base + rng.normal(0, 0.03), 0, 1))
                    rows.append(
                        ("trained", None, entry["kind"], layer, head, mention, n, value, *ends(value, n, documents))
                    )
    return table_of(COREF_HEADS, rows)


def _gap(kind, layer, head, documents):
    rows = []
    for system, selection, base in (
        ("head", "held-out", 0.66), ("head", "same-data", 0.67), ("random", None, 0.5), ("nearest", None, 0.55),
        ("first", None, 0.58),
    ):  # fmt: skip
        named = (kind, layer, head) if system == "head" else (None, None, None)
        for gender, n, change in (("all", 2000, 0.0), ("masculine", 1000, 0.02), ("feminine", 1000, -0.02)):
            for measure, less in (("accuracy", 0.0), ("f1", -0.12)):
                value = base + change + less
                every = value + 0.01 if selection == "held-out" else np.nan
                rows.append(
                    (system, selection, *named, gender, measure, n, value, *ends(value, n, documents),
                     every, *ends(every, n, documents))
                )  # fmt: skip
    return table_of(GAP, rows)
