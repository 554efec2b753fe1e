"""One run at a time: the second learns who holds the place, and a killed run holds nothing."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from headscope.errors import OutputError
from headscope.storage.lock import check_held, folder_held, place_held, placed
from headscope.storage.places import lock_of

HOLDER = """
import sys, time
from pathlib import Path
from headscope.storage.lock import {how}
with {how}(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
HOW = {"folder_held": folder_held, "place_held": place_held}


@pytest.mark.parametrize("how", HOW)
def test_the_second_is_told_who_holds_it_and_a_kill_lets_go(how, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(how=how), str(out)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(OutputError) as refused, HOW[how](out):
            raise AssertionError("two at once")
        expected = (
            rf"{re.escape(str(out))} is being written by process {process.pid} of \S+ on \S+ \(-c .*; since "
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\); wait until it ends, or give another --out"
        )
        assert re.fullmatch(expected, str(refused.value))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with HOW[how](out):
        pass
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("how", HOW)
def test_threads_of_one_process_are_two_runs(how, tmp_path):
    said = []

    def other():
        try:
            with HOW[how](tmp_path / "out"):
                said.append("held")
        except OutputError as refused:
            said.append(str(refused))

    with HOW[how](tmp_path / "out"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(said) == 1
    assert f"process {os.getpid()} " in said[0]


def test_a_run_may_hold_its_folder_again(tmp_path):
    out = tmp_path / "out"
    with folder_held(out) as first:
        with folder_held(out) as second:
            assert second is first
        assert first.lock.exists()
        (out / "result").touch()
    assert [path.name for path in out.iterdir()] == ["result"]


@pytest.mark.parametrize(
    ("content", "holder"), [(b"", "another run"), (b"\x1b[2J\xff", "⟨U+001B⟩[2J\ufffd"), (b"a" * 70_000, "another run")]
)
def test_a_lock_file_that_another_program_wrote(content, holder, tmp_path):
    with place_held(tmp_path / "out"):
        lock_of(tmp_path / "out").write_bytes(content)
        with pytest.raises(OutputError) as refused, place_held(tmp_path / "out"):
            raise AssertionError("two at once")
    assert str(refused.value) == (
        f"{tmp_path / 'out'} is being written by {holder}; wait until it ends, or give another --out"
    )


@pytest.mark.parametrize("gone", ["removed", "replaced"])
def test_a_folder_that_goes_during_the_run_is_noticed(gone, tmp_path):
    import shutil

    out = tmp_path / "out"

    def run():
        with folder_held(out) as held:
            (out / "table").touch()
            held.check()
            shutil.rmtree(out)
            if gone == "replaced":
                out.mkdir()
            check_held(out)

    with pytest.raises(OutputError) as refused:
        run()
    assert str(refused.value) == (
        f"{out} was removed or replaced while this run wrote to it; run the same command again, and leave the folder "
        "alone until it ends"
    )


def test_a_folder_that_got_nothing_is_not_left_behind(tmp_path):
    with pytest.raises(ValueError, match="corpus"), folder_held(tmp_path / "out"):
        raise ValueError("corpus")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with folder_held(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine").is_dir()


def test_the_old_stands_until_the_new_is_whole(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with placed(path, replace=True) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
