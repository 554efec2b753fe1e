"""Slow fixtures are made by the first process that needs them, and made again only after a failure."""

import pytest

from support.made_once import MadeWhenRead, made_once


def test_the_processes_of_a_run_share_what_one_made(tmp_path_factory, monkeypatch):
    run = tmp_path_factory.mktemp("run")
    made = []

    def make(folder):
        made.append(folder)
        (folder / "file").touch()

    for worker in ("gw0", "gw1"):
        (run / worker).mkdir()
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        monkeypatch.setattr(tmp_path_factory, "getbasetemp", lambda worker=worker: run / worker)
        assert (made_once(tmp_path_factory, "what", make) / "file").exists()
    assert made == [run / "what"]


def test_what_failed_is_made_again(tmp_path_factory, monkeypatch):
    run = tmp_path_factory.mktemp("run")
    monkeypatch.setattr(tmp_path_factory, "getbasetemp", lambda: run)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def fail(folder):
        raise OSError(28, "full")

    with pytest.raises(OSError, match="full"):
        made_once(tmp_path_factory, "what", fail)
    assert (made_once(tmp_path_factory, "what", lambda folder: (folder / "file").touch()) / "file").exists()


def test_what_is_read_by_name_is_made_when_first_read():
    made = []
    things = MadeWhenRead(["one", "two"], lambda name: made.append(name) or len(made))
    assert (list(things), len(things), made) == (["one", "two"], 2, [])
    assert (things["two"], things["two"], dict(things)) == (1, 1, {"one": 2, "two": 1})
    assert made == ["two", "one"]
