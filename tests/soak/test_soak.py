"""Killed before and after each rename, a command finishes with the same results and leaves no other files.

This is the quick part of `make soak`: maps and a training; the full soak adds a report and random moments.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.storage.lock import place_held
from support.commands import run_command

pytestmark = pytest.mark.slow

SOAK = Path(__file__).parents[1] / "soak" / "run.py"


def test_the_soak_kills_and_compares(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SOAK), "--kills", "2", "--only", "extract", "--only", "extract pickle"],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("all identical, nothing left; ")
    assert [line.split()[0] for line in lines[:-1]] == ["extract", "extract"]
    assert list(tmp_path.glob("soak-*")) == []


def test_two_extracts_into_one_place(tmp_path):
    """The second one is refused at once, before a model is loaded."""
    (tmp_path / "text.txt").write_text("The cat sat.")
    with place_held(tmp_path / "maps"):
        code, out, err = run_command(
            *("extract", "--text", tmp_path / "text.txt", "--out", tmp_path / "maps", "--model", "no/such-model")
        )
    assert (code, out) == (2, "")
    assert err.startswith(f"headscope: {tmp_path / 'maps'} is being written by process {os.getpid()} ")
    assert err.endswith("); wait until it ends, or give another --out\n")


def test_the_soak_would_notice(tmp_path):
    """Planted faults are noticed: an index with other content, and a leftover temporary file."""
    from soak import tasks

    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "index.json").write_text("{}")
    (tmp_path / ".maps.0123456789abcdef.headscope-part").touch()
    before = tasks.answers(tmp_path)
    assert tasks.left_behind(tmp_path) == [".maps.0123456789abcdef.headscope-part"]
    (tmp_path / "maps" / "index.json").write_text("{ }")
    assert tasks.answers(tmp_path) != before
