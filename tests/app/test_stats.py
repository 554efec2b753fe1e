"""`headscope stats`: the table on the terminal and in files is the study's own."""

import json

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.stats.compute import StatsMeasurement
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.roles import roles
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import STATISTICS, is_share
from headscope.statistics.tables.frames import MEASURES, of_measure
from support.model_folders import save_tiny_bert

pytestmark = pytest.mark.slow

OPTIONS = ("--packing", "single", "--max-inputs", 14, "-q")


@pytest.fixture(scope="module")
def expected():
    return stats_of()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model that is quickly read, where any will do."""
    return str(save_tiny_bert(tmp_path_factory.mktemp("stats") / "tiny"))


@pytest.fixture(scope="module")
def expected_of_small(small):
    return stats_of(model=small)


def stats_of(**options):
    options = RunOptions(packing="single", max_inputs=14, stages=("stats",), **options)
    return StatsMeasurement(prepare(options)).measure().tables["stats"]


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path)
    return pd.DataFrame(json.loads(path.read_text())) if path.suffix == ".json" else pd.read_parquet(path)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_the_written_table_is_the_studys(cli, tmp_path, small, expected_of_small, ending):
    path = tmp_path / f"heads.{ending}"
    expected = expected_of_small
    code, out, _ = cli("stats", "--model", small, *OPTIONS, "--out", path)
    assert code == 0
    assert out.splitlines()[-1] == f"table: {path} ({len(expected):,} rows)"
    table = read(path)
    assert list(table.columns) == list(expected.columns)
    for column in ("value", "ci_low", "ci_high", "uniform"):
        np.testing.assert_allclose(table[column].astype(float), expected[column], atol=1e-9)
    assert table["statistic"].tolist() == expected["statistic"].tolist()
    heads = pd.to_numeric(table["head"]).fillna(0).astype(int)
    assert heads.tolist() == expected["head"].fillna(0).astype(int).tolist()


def test_the_terminal_shows_every_head(cli, expected):
    code, out, _ = cli("stats", *OPTIONS)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    heads = {row[0]: row for row in rows if row and row[0].count("-") == 1 and row[0][0].isdigit()}
    assert len(heads) == 72
    weights = of_measure(expected)
    own = weights[(weights.layer == 1) & (weights["head"] == 3)].set_index("statistic").value
    names = [one.name for one in STATISTICS.values() if one.rows is Rows.ALL and not one.rare]
    shown = [f"{100 * own[n]:.1f}" if is_share(n) else f"{own[n]:.2f}" for n in names]
    assert len(shown) >= 8
    assert heads["1-3"][1:-1] == [*shown, "previous"]
    # Behind it the role by what is written, where that is another.
    by_weight, by_norm = (roles(expected, measure=measure) for measure in MEASURES)
    both = by_weight.merge(by_norm, on=["kind", "layer", "head"], suffixes=("", "_written"))
    others = [
        (f"{one.layer}-{one.head}", one.role_written) for one in both.itertuples() if one.role != one.role_written
    ]
    assert [(name, row[-1]) for name, row in heads.items() if row[-1] != "-"] == others
    assert 0 < len(others) < 72


def test_a_place_that_cannot_be_written_is_said_before_the_scan(cli, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "folder.csv", tmp_path / "nowhere" / "x.csv"):
        code, out, err = cli("stats", *OPTIONS, "--out", path)
        assert (code, out) == (2, "")
        assert err == f"headscope: --out {path} cannot hold a file; give a file in a folder that exists\n"
