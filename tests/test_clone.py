"""The tests depend neither on the name of the checkout's folder nor on how busy the machine is."""

import shlex
import subprocess
from pathlib import Path

import pytest
import torch
from hypothesis import settings

import headscope
from fuzz.judging import judge
from support.benchmarks import benchmark
from support.transfers import counted_transfers

ROOT = Path(__file__).parents[1]
FOREIGN = ("/home/me/headscope/tests/a.py", "/home/me/headscope/.venv/lib/a.py", "/home/me/src/headscope/a.py")
OWN = str(Path(headscope.__file__).parent / "a.py")


def defined_in(path, code):
    """Return the function `run`, compiled as if its code came from the file at the path."""
    names = {"torch": torch}
    exec(compile(code, path, "exec"), names)
    return names["run"]


COPY = "def run(inner=lambda: torch.zeros(2).cpu()): return inner()"
FAULT = "def run(folder): raise IndexError('planted')"


def test_no_example_has_a_deadline():
    assert settings().deadline is None


@pytest.mark.parametrize("path", FOREIGN)
def test_a_file_belongs_to_the_package_by_its_folder(path):
    with counted_transfers() as counted:
        defined_in(path, COPY)()
    assert not counted.counts
    launches = benchmark("launches")
    with launches.Launches() as counted:
        defined_in(path, "def run(): torch.zeros(2) + 1")()
    assert set(counted.counts) == {launches.MODEL}
    assert judge(defined_in(path, FAULT), Path()).place == "IndexError planted"


def test_a_file_of_the_package_is_counted():
    with counted_transfers() as counted:
        defined_in(OWN, COPY)()
    assert counted.counts == {"cpu a.py:1": 1}
    launches = benchmark("launches")
    with launches.Launches() as counted:
        defined_in(OWN, "def run(): torch.zeros(2) + 1")()
    assert set(counted.counts) == {"a.py run"}
    assert judge(defined_in(OWN, FAULT), Path()).place == "IndexError in a.py:run"


def test_a_folder_named_transformers_is_not_the_library():
    user = defined_in("/home/me/transformers/a.py", COPY)
    with counted_transfers() as counted:
        defined_in(OWN, COPY)(user)
    assert counted.counts == {"cpu a.py:1": 1}


def test_the_makefile_takes_paths_with_a_space():
    paths = {
        name: f"/{name.lower()} of mine" for name in ("CURDIR", "DATA", "RUN", "PROBES", "TREEBANK", "TREEBANK_TRAIN")
    }
    command = ["make", "--dry-run", "decoder", "bench", "pictures", *(f"{name}={path}" for name, path in paths.items())]
    recipes = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = {word for line in recipes.splitlines() for word in shlex.split(line, comments=True)}
    paths["CURDIR"] = f"PATH={paths['CURDIR']}/.venv/bin:$PATH"
    assert [path for path in paths.values() if path not in words] == []
