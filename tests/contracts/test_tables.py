"""Contracts of every table: a run writes tables that match their schemas, and mismatches are refused."""

import subprocess
import sys

import pandas as pd
import pytest

from headscope.analyses.measurement import StageResult
from headscope.present.study import open_study
from headscope.running import writing
from headscope.running.stages import check_tables, measure_stage
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import OF_STAGE, STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.tables.frames import check_table
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_masked_lm
from support.stand_ins import schemas, stand_in, table_of

SCHEMAS = schemas()
COLUMNS = [(name, column.name) for name, schema in SCHEMAS.items() for column in schema.columns]
GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n" + "".join(
    f"own-{i}\tAnna wrote to Clara on day {i} before she left.\tshe\t{35 + len(str(i))}\tAnna\t0\t{i % 2 == 0}\t"
    f"Clara\t14\t{i % 2 == 1}\thttp://example.org\n".replace("True", "TRUE").replace("False", "FALSE")
    for i in range(12)
)


def tables_of(stage):
    return OF_STAGE[stage].tables(STAGES[stage])


PROBES = {schema.name for schema in tables_of("probes")}


def made(name):
    """Return a row of each table, as a run could write it."""
    return stand_in(SCHEMAS[name])


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def prepared(base, *, documents):
    """Return a run of every stage except the probes, which are slow; their own tests check their tables."""
    trees = base / f"{documents}.conllu"
    trees.write_text(demo_conllu(1, documents), encoding="utf-8")
    (base / "gap.tsv").write_text(GAP)
    (base / "text.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n\n" * 6)
    tiny = str(save_tiny_masked_lm(base / "tiny"))
    options = RunOptions(
        model=tiny,
        other=tiny,
        text=(str(base / "text.txt"),),
        treebank=(str(trees),),
        coref=(str(trees), str(base / "gap.tsv")),
        loss="mlm",
        controls=1,
        shuffled=True,
        max_length=64,
        include=("pca", "effects", "why"),
        measures=("explanation",),
    )
    return prepare(options)


@pytest.fixture(scope="module")
def run(base):
    return prepared(base, documents=24)


@pytest.fixture(scope="module")
def whole(run, base):
    write_run(run, base / "out")
    return open_study(base / "out")


@pytest.mark.slow
def test_every_stage_makes_the_tables_that_it_declares(whole):
    assert list(whole.manifest["stages"]) == [stage for stage in STAGES if stage != "probes"]
    assert sorted(whole.tables) == sorted(set(SCHEMAS) - PROBES)


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in PROBES])
def test_what_is_on_disk_is_as_its_schema_says(whole, name):
    table = whole.table(name)
    assert len(table), "a table without rows cannot be checked"
    check_table(SCHEMAS[name], table)


@pytest.mark.parametrize("stage", ["syntax", "coref"])
def test_of_one_document_nothing_is_held_out_and_tables_keep_their_types(base, stage):
    result = measure_stage(STAGES[stage], prepared(base, documents=1), {}, None)
    gaps = result.tables[f"{stage}_differences"]
    assert gaps["difference"].isna().all()


def test_no_two_tables_have_one_name():
    declared = [schema.name for stage in STAGES for schema in tables_of(stage)]
    assert len(declared) == len(set(declared))


@pytest.mark.parametrize("name", SCHEMAS)
def test_two_rows_of_one_thing_are_refused(name):
    with pytest.raises(ValueError, match=rf"^table {name}: expected one row for each "):
        check_table(SCHEMAS[name], pd.concat([made(name)] * 2, ignore_index=True))


@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_a_column_that_is_gone_is_refused(name, column):
    with pytest.raises(ValueError, match=rf"^table {name}: expected the columns "):
        check_table(SCHEMAS[name], made(name).drop(columns=column))


@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_a_column_of_another_type_is_refused(name, column):
    wrong = made(name).assign(**{column: pd.Series([complex(1, 1)])})
    with pytest.raises(ValueError, match=rf"^table {name}, column {column}: expected .*, came complex128; "):
        check_table(SCHEMAS[name], wrong)


@pytest.mark.parametrize(
    ("name", "column"), [(name, c.name) for name, s in SCHEMAS.items() for c in s.columns if c.choices or c.bounds]
)
def test_a_value_that_cannot_be_is_refused(name, column):
    schema = SCHEMAS[name]
    (own,) = (one for one in schema.columns if one.name == column)
    value = "unheard of" if own.choices else own.bounds[0] - 1
    given = made(name)
    wrong = given.assign(**{column: pd.Series([value]).astype("str" if own.choices else own.dtype)})
    if own.unless:
        # In this row the bounds apply.
        assert not wrong[own.unless[0]].isin(own.unless[1]).any()
    with pytest.raises(ValueError, match=rf"^table {name}, column {column}: expected (one of|values from) "):
        check_table(schema, wrong)


def result_of(stage, **changed):
    """Return a possible result of a stage with one row per table; a table that is None is dropped."""
    names = [schema.name for schema in tables_of(stage)]
    tables = {name: made(name) for name in names} | changed
    return StageResult(name=stage, tables={name: one for name, one in tables.items() if one is not None})


@pytest.mark.parametrize("stage", STAGES)
def test_a_table_too_few_or_too_many_is_refused(stage):
    check_tables(result_of(stage))
    names = [schema.name for schema in tables_of(stage)]
    for changed, came in (
        ({names[0]: None}, names[1:]),
        ({"heads_at_night": made(names[0])}, [*names, "heads_at_night"]),
    ):
        with pytest.raises(ValueError, match="stage") as refused:
            check_tables(result_of(stage, **changed))
        assert str(refused.value) == (
            f"stage {stage}: expected the tables {', '.join(names)}; came {', '.join(came) or 'none'}; declare what it "
            "makes in the tables.py of its analysis"
        )


def test_a_stage_that_makes_something_else_is_refused_as_soon_as_it_has(run, monkeypatch):
    wrong = result_of("stats", stats=made("stats").assign(value=66.0))
    monkeypatch.setattr("headscope.analyses.stats.compute.StatsMeasurement.compute", lambda *_: wrong)
    with pytest.raises(ValueError, match="table stats") as refused:
        measure_stage(STAGES["stats"], run, {}, None)
    assert str(refused.value) == (
        "table stats, column value: expected values from 0 to 1, came 66 in row 0; change what makes the table, or "
        "its schema and with it the version of its stage"
    )


def test_nothing_of_a_stage_is_written_where_a_table_is_wrong(tmp_path):
    wrong = result_of("importance", importance_differences=made("importance").head(0))
    with pytest.raises(ValueError, match=r"^table importance_differences: expected the columns "):
        writing._write_stage(tmp_path, {"stages": {}}, wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_stand_in_cannot_drift_from_its_schema():
    gap = SCHEMAS["gap"]
    with pytest.raises(AssertionError, match="table gap has no column accuracy"):
        table_of(gap, [{"accuracy": 0.5}])
    with pytest.raises(AssertionError, match="column system must have a value in every row"):
        table_of(gap, [{"value": 0.5}])
    with pytest.raises(ValueError, match="table gap, column value: expected values from 0 to 1, came 66 in row 1"):
        stand_in(gap, gender=["all", "feminine"], value=[0.6, 66.0])


def test_listing_the_analyses_loads_nothing_heavy():
    code = (
        "import sys; from headscope.scans.declarations.analysis_list import ANALYSES; "
        "print(sorted({'torch', 'pandas', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
