"""Made-up tables of probes in the shape of real ones."""

import numpy as np

from headscope.analyses.probes.tables import PROBE_BY_DISTANCE, PROBE_LAYERS, PROBE_RELATIONS, PROBE_WEIGHTS, PROBES
from headscope.statistics.tables.frames import DISTANCES
from support.measured import with_parts
from support.mock_differences import probe_differences
from support.stand_ins import table_of

VECTORS = "input embeddings of tiny"
# probe, model, vectors, measures of the mean
SCORES = [
    ("attention", "trained", None,
     {"UAS": 0.552, "UAS tree": 0.561, "LAS": 0.481, "control accuracy": 0.43, "selectivity": 0.122}),
    ("attention and words", "trained", VECTORS,
     {"UAS": 0.701, "UAS tree": 0.709, "LAS": 0.634, "control accuracy": 0.74, "selectivity": -0.039}),
    ("distances and words", "trained", VECTORS,
     {"UAS": 0.588, "UAS tree": 0.6, "control accuracy": 0.81, "selectivity": -0.222}),
    ("attention", "control", None, {"UAS": 0.281}),
    ("attention and words", "control", VECTORS, {"UAS": 0.352}),
    ("right-branching", "trained", None, {"UAS": 0.274}),
    ("structural", "trained", "layer 3", {"UUAS": 0.734, "Spearman": 0.761}),
]  # fmt: skip
RELATIONS = ("nsubj", "obj", "det", "root")


def score_rows(*, seeds=3, documents=40, scores=SCORES, n=20_137):
    """Return the table `probes`: each seed and the mean, without intervals for few documents."""
    rows = []
    for probe, model, vectors, measures in scores:
        for measure, value in measures.items():
            half = 0.011 if documents >= 10 else np.nan
            shift = 0.004 * (np.arange(seeds) - (seeds - 1) / 2)
            numbers = [] if probe == "right-branching" else list(range(seeds))
            for seed in [*numbers, None]:
                own = value if seed is None else value + shift[seed]
                spread = shift.std(ddof=1) if seed is None and len(numbers) > 1 else np.nan
                rows.append(
                    {"probe": probe, "measure": measure, "model": model, "vectors": vectors, "seed": seed,
                     "value": own, "ci_low": own - half, "ci_high": own + half, "n_cases": n, "spread": spread}
                )  # fmt: skip
    return table_of(PROBES, rows)


def class_rows(column, names, *, documents=40, scores=SCORES):
    """Return the table `probe_relations` or `probe_by_distance`, in which accuracy falls with the class's index."""
    half = 0.02 if documents >= 10 else np.nan
    rows = []
    for probe, model, vectors, measures in scores:
        if probe == "structural":
            continue
        for place, name in enumerate(names):
            value = measures["UAS"] * 0.9**place
            rows.append(
                {"probe": probe, "model": model, "vectors": vectors, column: name, "n_cases": 3000 - 400 * place,
                 "value": value, "ci_low": value - half, "ci_high": value + half}
            )  # fmt: skip
    return table_of(PROBE_RELATIONS if column == "relation" else PROBE_BY_DISTANCE, rows)


def weight_rows(kinds, *, seed=0):
    """Return the table `probe_weights` with random weights of both signs."""
    rng = np.random.default_rng(seed)
    rows = [
        {"probe": probe, "kind": part["kind"], "layer": layer, "head": head, "direction": direction,
         "weight": float(rng.normal(scale=2))}
        for probe in ("attention", "attention and words")
        for part in kinds
        if part["kind"] != "cross"
        for layer in range(1, part["layers"] + 1)
        for head in range(1, part["heads"] + 1)
        for direction in ("head->dependent", "dependent->head")
    ]  # fmt: skip
    return table_of(PROBE_WEIGHTS, rows)


def layer_rows(layers=6, *, documents=40, chosen=3):
    """Return the table `probe_layers`, best at the chosen layer."""
    half = 0.01 if documents >= 10 else np.nan
    rows = []
    for layer in range(layers + 1):
        for measure, top in (("UUAS", 0.73), ("Spearman", 0.76)):
            value = top - 0.03 * abs(layer - chosen)
            rows.append(
                {"layer": layer, "measure": measure, "value": value, "ci_low": value - half, "ci_high": value + half,
                 "n_cases": 20_085, "held_out": value - 0.005, "chosen": layer == chosen}
            )  # fmt: skip
    return table_of(PROBE_LAYERS, rows)


def probe_facts():
    """Return the manifest's entry on the probes."""
    train = {"name": "train.conllu", "documents": 500, "sentences": 12_539, "words": 204_000, "left_out": 5}
    dev = {"name": "dev.conllu", "documents": 300, "sentences": 2001, "words": 25_149, "left_out": 0}
    return {"vectors": VECTORS, "seeds": 3, "train": train, "dev": dev, "structural": {"layer": 3}}


def with_probes(inputs, *, documents=40, scores=SCORES, seeds=3):
    """Return the run with tables of probes."""
    kinds = inputs.manifest["kinds"]
    return with_parts(
        inputs,
        manifest={**inputs.manifest, "probes": probe_facts()},
        probes=score_rows(documents=documents, scores=scores, seeds=seeds),
        probe_differences=probe_differences(score_rows(documents=documents, scores=scores, seeds=seeds)),
        probe_relations=class_rows("relation", RELATIONS, documents=documents, scores=scores),
        probe_by_distance=class_rows("distance", DISTANCES, documents=documents, scores=scores),
        probe_weights=weight_rows(kinds),
        probe_layers=layer_rows(kinds[0]["layers"], documents=documents),
    )
