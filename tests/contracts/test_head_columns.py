"""Contracts of `study.heads`: one row per head, and a column for every measure of single heads in any analysis."""

from collections import defaultdict
from itertools import product
from math import isfinite
from pathlib import Path

import pandas as pd
import pytest

from headscope.analyses.stats.norm_roles import norm_roles
from headscope.analyses.syntax.relations import best_relations
from headscope.present.head_columns import head_columns, verdicts_by_head
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.statistics.statistic_catalog import NAMES
from headscope.statistics.tables.columns import COUNTS
from headscope.statistics.tables.frames import is_true
from support.stand_ins import schemas, stand_in

PLACE = ("kind", "layer", "head")
SCHEMAS = schemas()
OF_HEADS = {name: schema for name, schema in SCHEMAS.items() if set(PLACE) <= set(schema.key)}
MEASURES_BY_ANALYSIS = [(analysis.name, measures) for analysis in ANALYSES for measures in analysis.head_measures]
MEASURES = [measures for _, measures in MEASURES_BY_ANALYSIS]
# Tables with rows of heads that contain no measure of a single head.
NO_MEASURE = {
    "stats_differences": "difference of two heads",
    "importance_differences": "of layers alone",
    "examples": "sentences",
    "top_examples": "sentences",
    "compare_examples": "sentences",
    "copy_examples": "sentences",
    "distribution_examples": "sentences",
    "pca_map": "tokens",
    "explanation_groups": "groups of features, which differ between heads",
    "explanation_examples": "sentences",
    "measure_changes": "statistics of two models",
    "compare_groups": "groups of features, which differ between heads",
    "sources": "sources, which differ between heads",
    "source_pairs": "pairs of sources",
}
# Columns that accompany a measure.
BESIDE = {"uniform", "random", "ci_low", "ci_high", "q_value", "reachable"}
# Values that mark rows of other models than the main one.
NOT_THE_MODEL = {"model": {"control", "shuffled"}}


def test_every_table_of_heads_is_in_it():
    assert {measures.table for measures in MEASURES} == set(OF_HEADS) - set(NO_MEASURE)
    assert set(NO_MEASURE) < set(OF_HEADS)


@pytest.mark.parametrize("name", sorted({measures.table for measures in MEASURES}))
def test_every_number_of_a_table_is_a_column(name):
    """Each key column distinguishes columns of `study.heads`, and each of its values is covered."""
    schema, own = SCHEMAS[name], [measures for measures in MEASURES if measures.table == name]
    columns = {column.name: column for column in schema.columns}
    numbers = {
        column.name
        for column in schema.columns
        if column.dtype.lower() in ("float64", "int64")
        and column.name not in {*schema.key, *BESIDE}
        and not column.name.startswith(COUNTS)
    }
    assert {value for measures in own for value in measures.values} == numbers
    for measures in own:
        assert {*measures.by, *measures.where} | set(PLACE) >= set(schema.key) - {"seed"}
        assert not measures.verdict or measures.verdict in columns
    for column in {column for measures in own for column in measures.where if columns[column].choices}:
        taken = {measures.where[column] for measures in own if column in measures.where}
        left = set(columns[column].choices) - taken
        assert taken <= set(columns[column].choices)
        assert left <= NOT_THE_MODEL.get(column, set()), column


LISTED = [
    pytest.param(measures, analysis.load(measures.labels), id=f"{measures.table}-{measures.suffix or 'weight'}")
    for analysis in ANALYSES
    for measures in analysis.head_measures
    if measures.labels
]


@pytest.mark.parametrize(("measures", "labels"), LISTED)
def test_every_label_is_one_of_rows_that_the_table_can_have(measures, labels):
    """The page lists only columns that a table can contain, each with a topic, and no name twice."""
    columns = {column.name: column for column in SCHEMAS[measures.table].columns}
    assert len(measures.values) == 1
    assert measures.topic
    assert labels
    for names in labels:
        for column, name in zip(measures.by, names, strict=True):
            assert name in values_of(columns[column]), names
    assert len({(label.label, label.description) for label in labels.values()}) == len(labels)


def values_of(column):
    """Return some values of a column that names a row, or all if it has few."""
    if column.choices:
        found = list(column.choices)
    elif column.bounds is not None:
        first, last = column.bounds
        found = list(range(int(first), int(last if isfinite(last) else first + 1) + 1))
    else:
        found = [f"a {column.name}", f"another {column.name}"]
    return [*found, None] if column.missing else found


def made_up(name):
    """Return a table of two heads and a layer mean, with a row for every key and a different number in each."""
    schema = SCHEMAS[name]
    columns = {column.name: column for column in schema.columns}
    over = [key for key in schema.key if key not in (*PLACE, "seed")]
    heads = [1, 2, None] if columns["head"].missing else [1, 2]
    rows = []
    for head in heads:
        for own in product(*(values_of(columns[key]) for key in over)):
            row = dict(zip(over, own, strict=True)) | {"kind": "decoder", "layer": 2, "head": head}
            if "seed" in columns and row["model"] != "trained":
                row["seed"] = 0
            measured = {value for measures in MEASURES if measures.table == name for value in measures.values}
            for value in sorted(measured):
                number = len(rows) + 1
                row[value] = number if columns[value].dtype == "int64" else number / 10_000
            if "shows" in columns:
                row["shows"] = bool(len(rows) % 3)
            rows.append(row)
    return stand_in(schema, *rows)


@pytest.fixture(scope="module")
def tables():
    return {name: made_up(name) for name in {measures.table for measures in MEASURES}}


def test_a_row_a_head_and_a_column_a_measure(tables):
    found = head_columns(tables.get)
    assert found[list(PLACE)].values.tolist() == [["decoder", 2, 1], ["decoder", 2, 2]]
    assert found.columns.is_unique
    by_head = found.set_index("head")
    expected = defaultdict(dict)
    for analysis, measures in MEASURES_BY_ANALYSIS:
        rows = tables[measures.table]
        for row in rows[rows["head"].notna()].to_dict("records"):
            if all(row[column] == value for column, value in measures.where.items()):
                for value in measures.values:
                    words = [analysis, measures.measure]
                    for column in measures.by:
                        if isinstance(row[column], str):
                            words.append(row[column].replace("->", "_to_"))
                        elif not pd.isna(row[column]):
                            words.append(f"{column}_{row[column]}")
                    words += [value] if len(measures.values) > 1 else []
                    name = ".".join(word for word in [*words, measures.suffix] if word)
                    assert row["head"] not in expected[name], name
                    expected[name][row["head"]] = row[value]
    for name, values in expected.items():
        assert by_head[name].to_dict() == values, name
    further = {"norms.non_sink", "stats.role.norm", "syntax.best_relation", "syntax.best_relation_margin"}
    assert set(found) - set(expected) - set(PLACE) <= further
    # One column of each kind, by name.
    for name in (
        *("stats.previous", "stats.entropy.norm", "norms.output_norm", "norms.value_norm.cls"),
        *("behaviors.first", "behaviors.first.norm"),
        *("experiments.repeated.induction", "experiments.repeated.induction.norm"),
        *("experiments.needle.retrieval", "experiments.needle.retrieval.norm"),
        *("distribution.output_norm.decile_5", "importance.weight_times_gradient.sep"),
        "pca.query.effective_dimension",
        *("syntax.a relation.dependent_to_head", "probes.a probe.head_to_dependent", "coref.pronoun"),
        *("distances.x", "distances.cluster"),
    ):
        assert name in expected


def test_what_a_head_shows_is_by_weights(tables):
    found = verdicts_by_head(tables.get)
    expected = defaultdict(list)
    for name in ("behaviors", "experiments"):
        rows = tables[name]
        own = rows[(rows["model"] == "trained") & rows["head"].notna() & is_true(rows["shows"])]
        for row in own[own["measure"] == "weight"].to_dict("records"):
            words = [name, *([row["experiment"]] if name == "experiments" else []), row["behavior"]]
            expected["decoder", 2, row["head"]].append(".".join(words))
    assert found == expected
    assert all(found.values())
    assert verdicts_by_head({}.get) is None


def test_a_run_without_tables_has_no_heads():
    assert list(head_columns({}.get)) == list(PLACE)


def test_the_role_by_what_is_written_where_that_is_known():
    rows = [
        {
            "kind": "encoder",
            "layer": 1,
            "head": head,
            "measure": measure,
            "statistic": name,
            "value": value,
            "n_inputs": n,
        }
        | {"uniform": 3.0 if name == "entropy" else 0.1}
        for head, measure, best, n in ((1, "weight", "cls", 9), (1, "norm", "next", 9), (2, "weight", "next", 9))
        for name in NAMES
        for value in [0.9 if name == best else 0.02]
    ]
    table = stand_in(SCHEMAS["stats"], *rows)
    assert norm_roles({"stats": table}.get)["role.norm"].to_dict() == {("encoder", 1, 1): "next"}
    assert norm_roles({"stats": table[table["measure"] == "weight"]}.get) is None
    assert norm_roles({}.get) is None


def test_the_best_relation_is_the_one_farthest_above_the_best_offset():
    heads = stand_in(
        SCHEMAS["syntax"],
        *(
            {"model": model, "head": head, "relation": relation, "direction": direction, "accuracy": accuracy}
            for model, head, relation, direction, accuracy in (
                ("trained", 1, "nsubj", "dependent->head", 0.6),
                ("trained", 1, "nsubj", "head->dependent", 0.5),
                ("trained", 1, "det", "dependent->head", 0.8),  # an offset has a higher accuracy
                ("trained", 1, "all", "dependent->head", 0.99),
                ("trained", 2, "nsubj", "dependent->head", 0.1),
                ("trained", 2, "det", "head->dependent", 0.82),
                ("shuffled", 2, "nsubj", "dependent->head", 0.99),
            )
        ),
    )
    baselines = stand_in(
        SCHEMAS["syntax_baselines"],
        *(
            {"baseline": baseline, "offset": offset, "relation": relation, "accuracy": accuracy}
            for baseline, offset, relation, accuracy in (
                ("offset", 1, "nsubj", 0.3),
                ("offset", -1, "nsubj", 0.2),
                ("offset", 1, "det", 0.85),
                ("right-branching", 1, "det", 0.9),
                ("offset", 1, "all", 0.1),
            )
        ),
    )
    found = best_relations({"syntax": heads, "syntax_baselines": baselines}.get)
    assert found["best_relation"].tolist() == ["nsubj dependent->head", "det head->dependent"]
    assert found["best_relation_margin"].round(9).tolist() == [0.3, -0.03]
    assert best_relations({"syntax": heads}.get) is None
    assert best_relations({"syntax": heads[:0], "syntax_baselines": baselines}.get) is None


def test_the_docs_name_every_table_that_it_is_made_of():
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    for measures in MEASURES:
        assert any(f"| `{measures.table}` |" in line for line in lines), measures.table
