"""Whoever follows docs/extending.md has shards, resuming and workers of a cluster without a word of them."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

from support.model_folders import save_tiny_bert
from support.own_packages import install_example, write_documented

STORY = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left, and it was seen no more.\n\n" * 16
STOP = 3
"""So many shards are kept before the run is killed."""
BEGIN = """
import json, os, signal, sys
from pathlib import Path
from headscope.encoding import shards
from headscope.scans import passes
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.shard_checkpoint import SHARDS, Part
from headscope.running.parts import read_parts, write_part
from headscope.present.study import open_study
from headscope.running.writing import write_run

shards.SHARD_TOKENS = 50
base, stop = Path(sys.argv[1]), int(sys.argv[2])
options = RunOptions(
    model=str(base / "tiny"), text=(str(base / "text.txt"),), max_length=32, stages=("reach",), shard_minutes=0
)
computed, compute = [], passes.compute_shard

def noting(shard, *given, **more):
    computed.append(shard.number)
    return compute(shard, *given, **more)

def killing(shard, *given, **more):
    if shard.number == stop:
        os.kill(os.getpid(), signal.SIGKILL)
    return compute(shard, *given, **more)

def table(name):
    return open_study(base / name).table("reach").to_json(double_precision=15)
"""
WORK = (
    BEGIN
    + """
child = os.fork()
if child == 0:
    passes.compute_shard = killing
    write_run(prepare(options), base / "resumed")
    os._exit(0)
ended = os.WTERMSIG(os.waitpid(child, 0)[1])
passes.compute_shard = noting
write_run(prepare(options), base / "resumed")
resumed = list(computed)
computed.clear()
write_run(prepare(options), base / "whole")
whole = list(computed)
parts = [base / "1", base / "2"]
kept = [write_part(prepare(options), part, Part(number, 2)) for number, part in enumerate(parts, 1)]
computed.clear()
write_run(prepare(options), base / "joined", parts=[each.folder for each in read_parts(parts)])
print(json.dumps({
    "ended": ended, "resumed": resumed, "whole": whole, "kept": kept, "joined": computed,
    "same": [table(name) == table("whole") for name in ("resumed", "joined")],
}))
"""
)
CLUSTER = (
    BEGIN
    + """

from headscope.running.ray_connection import ClusterOptions
from headscope.running.ray_engine import RayEngine

def refusing(*given, **more):
    raise AssertionError("computed in the process that asks")

passes.compute_shard = refusing
with RayEngine(ClusterOptions(workers=1)) as engine:
    run = prepare(options)
    engine.serve(run)
    write_run(run, base / "cluster", executor=engine)
print(json.dumps(table("cluster") == table("whole")))
"""
)


@pytest.fixture(scope="module", params=[write_documented, install_example], ids=["documentation", "example"])
def package(request, tmp_path_factory):
    """The folder of a package's modules, and the environment of a process that has the package."""
    target = tmp_path_factory.mktemp("target")
    folder = request.param(target)
    paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
    return folder, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture(scope="module")
def run(package, tmp_path_factory):
    """Run code with the package, a tiny model and a text, in one folder for all of it."""
    base = tmp_path_factory.mktemp("run")
    (base / "text.txt").write_text(STORY)
    save_tiny_bert(base / "tiny")

    def ended(code):
        command = [sys.executable, "-c", code, str(base), str(STOP)]
        return subprocess.run(command, env=package[1], capture_output=True, text=True, timeout=1200)

    return ended


def test_it_mentions_none_of_it(package):
    for path in package[0].glob("*.py"):
        assert not re.search(r"shard|checkpoint|resum|executor|\bray\b|worker", path.read_text(), re.IGNORECASE)


@pytest.mark.long
def test_it_is_resumed_after_a_kill_and_sharded(run):
    ended = run(WORK)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    number = len(found["whole"])
    assert number > 5
    assert found == {
        "ended": signal.SIGKILL,
        "whole": list(range(number)),
        "resumed": list(range(STOP, number)),
        "kept": [(number + 1) // 2, number // 2],
        "joined": [],
        "same": [True, True],
    }


@pytest.mark.long
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.parametrize("package", [write_documented], ids=["documentation"], indirect=True)
def test_workers_of_a_cluster_compute_it(run):
    ended = run(CLUSTER)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "true\n"
