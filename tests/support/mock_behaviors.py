"""Made-up behaviors of a made-up run, in text and in experiments: exactly one head shows each behavior."""

import numpy as np

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
from headscope.analyses.behaviors.tables import BEHAVIORS_BEST, BEHAVIORS_TABLE, COPY_EXAMPLES
from headscope.analyses.experiments.tables import EXPERIMENTS, EXPERIMENTS_BEST, EXPERIMENTS_TABLE
from support.measured import with_parts
from support.stand_ins import table_of

UNIFORM = 0.03


def place_of(behavior, layers, heads):
    """Return the 1-based layer and head that show a behavior."""
    number = list(BEHAVIORS).index(behavior) * 5 % (layers * heads)
    return number // heads + 1, number % heads + 1


def with_behaviors(inputs, *, never=("blank",), shown=True, interval=True, unwritten=("first",)):
    """Return the run with its tables of behaviors and experiments.

    Args:
        inputs: the run.
        never: behaviors that cannot occur.
        shown: False if no head passes the rule.
        interval: False if no head is tested.
        unwritten: behaviors whose heads have almost no output from the attended keys; None if output norms are
            unknown.
    """
    tables = {"behaviors": [], "behaviors_best": [], "experiments": [], "experiments_best": []}
    for part in inputs.manifest["kinds"]:
        cross = part["kind"] == "cross"
        wanted = [("", name) for name in NATURAL]
        wanted += [(which, name) for which, one in EXPERIMENTS.items() for name in one.behaviors]
        for experiment, name in wanted:
            gone = name in never or (cross and name != "first" and not BEHAVIORS[name].delimiter)
            rows, best = _rows(part, name, gone=gone, shown=shown, interval=interval)
            which = "experiments" if experiment else "behaviors"
            of = {"experiment": experiment} if experiment else {}
            tables[which] += [{**of, **row, "measure": "weight"} for row in rows]
            if unwritten is not None:
                little = name in unwritten
                tables[which] += [{**of, **_written(row, little=little), "measure": "norm"} for row in rows]
            tables[f"{which}_best"] += [{**of, **row} for row in best]
    tables["copy_examples"] = [
        copy_example(kind["kind"], *place_of("induction", kind["layers"], kind["heads"]))
        for kind in inputs.manifest["kinds"]
        if kind["kind"] != "cross"
    ]
    schemas = (COPY_EXAMPLES, BEHAVIORS_TABLE, BEHAVIORS_BEST, EXPERIMENTS_TABLE, EXPERIMENTS_BEST)
    return with_parts(inputs, **{schema.name: table_of(schema, tables[schema.name]) for schema in schemas})


def copy_example(kind, layer, head):
    """Return a sentence whose second "cat sat" attends to the context of the first one."""
    tokens = ["a", "cat", "sat", "where", "no", "cat", "sat"]
    weights = 0.1 * np.eye(len(tokens)) + 0.9 * np.eye(len(tokens), k=-3)
    weights[:3] = np.eye(len(tokens))[:3]
    return {
        **{"kind": kind, "layer": layer, "head": head, "behavior": "induction", "value": 0.9},
        **{"document": "copied", "segment": 0, "start": 0, "tokens": tokens, "text": " ".join(tokens)},
        **{"weights": weights.reshape(-1).tolist(), "queries": [5, 6], "keys": [2, 3]},
    }


def _written(row, *, little):
    """Return the norm-weighted row: the row itself, or a tenth of it for a head that writes little."""
    if not little or row.get("shows") is not True:
        return row
    return {**row, **{name: row[name] / 10 for name in ("value", "ci_low", "ci_high")}, "shows": False}


def _rows(part, name, *, gone, shown, interval):
    rng = np.random.default_rng(list(BEHAVIORS).index(name))
    layers, heads, share = part["layers"], part["heads"], BEHAVIORS[name].unit == "share"
    strongest = place_of(name, layers, heads)
    uniform = UNIFORM if share else 21.0
    rows = []
    for layer in range(1, layers + 1):
        values = rng.uniform(0.5, 1.5, size=heads) * uniform
        if layer == strongest[0] and share and shown:
            values[strongest[1] - 1] = 0.62
        for head, value in [*enumerate(values, 1), (None, values.mean())]:
            row = {"model": "trained", "kind": part["kind"], "layer": layer, "head": head, "behavior": name}
            if gone:
                rows.append(
                    {**row, "value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "uniform": np.nan, "n_rows": 0}
                )
                continue
            ends = {"ci_low": 0.9 * value, "ci_high": 1.1 * value}
            if not interval:
                ends = {"ci_low": np.nan, "ci_high": np.nan}
            said = None if not share or not interval else bool(ends["ci_low"] > 0.25)
            rows.append({**row, "value": value, **ends, "uniform": uniform, "n_rows": 900, "shows": said})
    if gone or not share:
        return rows, []
    own = next(row for row in rows if (row["layer"], row["head"]) == strongest)
    held = {"held_out": 0.95 * own["value"], "held_out_ci_low": 0.9 * own["value"], "held_out_ci_high": own["value"]}
    if not interval:
        held |= {"held_out_ci_low": np.nan, "held_out_ci_high": np.nan}
    every = {"all_documents": 1.02 * own["value"]}
    every |= {f"all_documents_{name}": 1.02 * own[name] for name in ("ci_low", "ci_high")}
    best = {**own, "share": 1.0, **held, **every}
    control = {**best, "model": "control", "seed": 0, "held_out": 0.041}
    control |= {"held_out_ci_low": 0.04, "held_out_ci_high": 0.042}
    return rows, [best, control]
