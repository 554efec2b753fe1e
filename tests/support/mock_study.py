"""Made-up runs of `mock_inputs` as directories in the format of real runs."""

from headscope.present.manifest import write_manifest
from headscope.present.study import open_study
from headscope.scans.examples.example_tables import TOP_EXAMPLES
from headscope.storage.files import write_parquet
from support.stand_ins import table_of


def top_examples_of(inputs, *, most=2):
    """Return a table of top examples: each head's map on its first shared sentence, repeated `most` times."""
    shared = inputs.examples[inputs.examples["behavior"] == "shared"]
    first = shared.drop_duplicates(["kind", "layer", "head"])
    named = first.drop(columns="behavior").merge(inputs.roles, on=["kind", "layer", "head"])
    rows = [
        {
            **{name: row.get(name) for name in TOP_EXAMPLES.names},
            "behavior": row["role"],
            "rank": rank,
            "value": 0.9 - 0.1 * rank,
            "start": 0,
            "text": " ".join(token for token in row["tokens"] if not token.startswith("[")),
        }
        for row in named.to_dict("records")
        for rank in range(1, most + 1)
    ]
    return table_of(TOP_EXAMPLES, rows)


def write_study(inputs, folder, *, top_examples=True):
    """Write a run's directory and open it."""
    tables = dict(inputs.tables)
    tables["top_examples"] = top_examples_of(inputs) if top_examples else None
    if inputs.tables.get("coref") is not None:
        # In memory the roles carry the finding; on disk it follows from this q-value.
        tables["coref"] = inputs.tables.get("coref").assign(q_value=0.001)
    there = {name: table for name, table in tables.items() if table is not None}
    files = {
        f"tables/{name}.parquet": write_parquet(folder / "tables" / f"{name}.parquet", table)
        for name, table in there.items()
    }
    stage = {"signature": "x", "seconds": 1.0, "tables": list(there), "files": files, "notes": []}
    write_manifest(folder, {**inputs.manifest, "stages": {"stats": stage}})
    return open_study(folder)
