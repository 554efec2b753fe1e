"""A package of its own adds an analysis and a statistic by entry points: installed, run, sharded, shown."""

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from headscope import installing
from headscope.errors import ExtensionError
from headscope.installing import installed
from headscope.scans.declarations.analysis import Analysis
from support.model_folders import save_tiny_bert
from support.own_packages import install_example

STORY = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left, and it was seen no more.\n\n" * 20
# Parts and the whole, as `headscope report --shard` and `merge` make them, of two stages alone.
WORK = """
import json, sys
import pandas as pd
from headscope.encoding import shards
shards.SHARD_TOKENS = 150
from headscope.scans.prepare.prepared_run import prepare_model_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.shard_checkpoint import SHARDS, Part
from headscope.reporting.report_page import render_report
from headscope.running.parts import read_parts, write_part
from headscope.present.study import open_study
from headscope.running.writing import write_run
from pathlib import Path

base = Path(sys.argv[1])
options = RunOptions(
    model=str(base / "tiny"), text=(str(base / "text.txt"),), max_length=32, stages=("stats", "reach")
)
parts = [base / "1", base / "2"]
for number, part in enumerate(parts, 1):
    write_part(prepare_model_run(options), part, Part(number, 2))
write_run(prepare(options), base / "joined", parts=[each.folder for each in read_parts(parts)])
write_run(prepare(options), base / "whole")
joined, whole = open_study(base / "joined"), open_study(base / "whole")
pd.testing.assert_frame_equal(joined.table("reach"), whole.table("reach"), check_exact=True)
table = whole.table("reach")
print(json.dumps({
    "scanned": sorted({path.name.split(".")[0] for part in parts for path in (part / SHARDS).iterdir()}),
    "heads": len(table),
    "longest": float(table["value"].max()),
    "columns": [name for name in whole.heads.columns if "reach" in name],
    "statistic": bool(whole["current_from_cls"].notnull().all()),
    "page": "Distance of the strongest key" in str(render_report(whole)),
}))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of a process in which the example is installed."""
    target = tmp_path_factory.mktemp("installed")
    install_example(target)
    return {**os.environ, "PYTHONPATH": str(target)}


def run(environment, *command):
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_an_analysis_of_another_package_is_measured_sharded_and_shown(environment, tmp_path):
    (tmp_path / "text.txt").write_text(STORY)
    save_tiny_bert(tmp_path / "tiny")
    ended = run(environment, "-c", WORK, tmp_path)
    assert ended.returncode == 0, ended.stderr
    came = json.loads(ended.stdout)
    assert 1 < came.pop("longest") < 32
    assert came.pop("heads") > 0
    assert came == {"scanned": ["reach", "stats"], "columns": ["reach"], "statistic": True, "page": True}


@pytest.mark.slow
def test_its_command_and_its_function_are_there(environment, tmp_path):
    ended = run(environment, "-P", "-m", "headscope", "reach", "--help")
    assert ended.returncode == 0, ended.stderr
    assert "Measure how far away each head attends the most, in tokens." in ended.stdout
    ended = run(environment, "-c", "import headscope as hs; print(hs.reach.__name__)")
    assert ended.stdout == "reach\n"


class _Point(EntryPoint):
    """An entry point that no installed package has."""

    dist = None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no_such_module:ANALYSIS", "cannot be loaded (ModuleNotFoundError: No module named 'no_such_module'); "
         "mend the package, or uninstall it"),
        ("json:dumps", "is of type function; expected Analysis: name one in the entry point"),
        ("headscope.analyses.stats.analysis:ANALYSIS",
         "is called stats, as another is; give it another name, or uninstall it"),
    ],
)  # fmt: skip
def test_a_package_that_cannot_be_used_is_named(value, says, monkeypatch):
    point = _Point(name="reach", value=value, group="headscope.analyses")
    monkeypatch.setattr(installing, "entry_points", lambda group: [point])
    with pytest.raises(ExtensionError) as said:
        installed("headscope.analyses", Analysis, taken=frozenset({"stats"}))
    assert str(said.value) == f"the package {value} adds {value} to headscope.analyses, which {says}"
