"""The scripts' pure functions, under node's own test runner."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from headscope.views.bundle import PALETTE_MODULE, source

FOLDER = Path(__file__).parent / "js"
NODE = shutil.which("node")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.test.mjs")), ids=lambda path: path.name)
def test_pure_functions_of_the_scripts(path):
    if NODE is None:
        pytest.skip("needs Node: no `node` on the path (apt install nodejs)")
    done = subprocess.run(
        [NODE, "--import", (FOLDER / "palette.mjs").as_uri(), "--test", str(path)],
        env={**os.environ, "HEADSCOPE_PALETTE": source(PALETTE_MODULE)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_such_tests():
    assert len(list(FOLDER.glob("*.test.mjs"))) >= 6
