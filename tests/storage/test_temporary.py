"""A temporary folder ends with its last user or its process; the next process removes that of a killed one."""

import gc
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from headscope.storage.lock import TemporaryFolder, temporary_folder_at

OWNER = """
import os, sys, time
from headscope.storage.lock import TemporaryFolder
folder = TemporaryFolder()
print(folder.path, flush=True)
if sys.argv[1:] == ["waits"]:
    time.sleep(60)
"""
FORKING = """
import os
from headscope.storage.lock import TemporaryFolder
folder = TemporaryFolder()
for ending in ("del folder", "pass"):
    if (child := os.fork()) == 0:
        exec(ending)
        raise SystemExit
    os.waitpid(child, 0)
    TemporaryFolder()  # removes the folders that nobody holds
    print(folder.path.is_dir())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()


def test_it_goes_with_its_last_user(folder):
    first = TemporaryFolder()
    path = first.path
    assert path.parent == folder
    assert path.stat().st_mode & 0o777 == 0o700
    second = temporary_folder_at(path)
    del first
    gc.collect()
    assert path.is_dir()
    del second
    gc.collect()
    assert not list(folder.iterdir())
    assert temporary_folder_at(path) is None


def test_it_goes_with_its_process(folder):
    (path,) = run(OWNER)
    assert path.startswith(str(folder))
    assert not list(folder.iterdir())


def test_that_of_a_killed_process_goes_with_the_next_and_that_of_a_living_one_stays(folder):
    command = [sys.executable, "-c", OWNER, "waits"]
    killed, living = (subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2))
    try:
        left, held = (process.stdout.readline().strip() for process in (killed, living))
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert os.path.isdir(left)
        own = TemporaryFolder()
        assert not os.path.exists(left)
        assert os.path.isdir(held)
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()
            process.stdout.close()
    del own


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_it_stays_when_a_forked_process_ends():
    assert run(FORKING) == ["True", "True"]
