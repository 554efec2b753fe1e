"""The scripts' pure functions, under node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "js"
NODE = shutil.which("node")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.test.mjs")), ids=lambda path: path.name)
def test_pure_functions_of_the_scripts(path):
    if NODE is None:
        pytest.skip("needs Node: no `node` on the path (apt install nodejs)")
    done = subprocess.run(
        [NODE, "--test", str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_such_tests():
    assert len(list(FOLDER.glob("*.test.mjs"))) >= 6
