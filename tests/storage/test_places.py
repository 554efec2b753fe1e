"""Output places: refusals and their messages, and that refused places stay unchanged."""

import json
import os

import pytest

from headscope.errors import OutputError
from headscope.storage.lock import folder_held, place_held, placed
from headscope.storage.places import MARK, check_contents, check_place, check_replaced, mark_content


def refusal(check, *arguments, **options):
    try:
        check(*arguments, **options)
    except OutputError as error:
        return str(error)
    return None


def test_devices_and_the_like_are_refused_whoever_writes(tmp_path):
    kinds = {"a FIFO": tmp_path / "fifo", "a device": tmp_path / "link"}
    os.mkfifo(kinds["a FIFO"])
    kinds["a device"].symlink_to("/dev/zero")

    def hold(path):
        with place_held(path):
            raise AssertionError

    def place(path):
        with placed(path, replace=True):
            raise AssertionError

    for kind, path in kinds.items():
        expected = f"{path} is {kind}; expected a new path, a file or a folder: give another --out"
        assert [refusal(check, path) for check in (check_place, hold, place)] == [expected] * 3
        assert not path.is_file()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["fifo", "link"]


def test_the_current_folder_and_those_around_it_are_refused(tmp_path, monkeypatch):
    (tmp_path / "around" / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "around" / "here")
    wrong = {
        ".": "is the current folder",
        "": "is the current folder",
        "..": "contains the current folder",
        "/": "contains the current folder",
        str(tmp_path / "around"): "contains the current folder",
        "below/..": "is the current folder",
    }
    for name, what in wrong.items():
        assert what in (refusal(check_place, type(tmp_path)(name)) or "accepted"), name
    for name in ("below", "new", "../beside", "below/new"):
        assert refusal(check_place, type(tmp_path)(name)) is None, name


def test_what_is_read_is_not_written_over(tmp_path):
    model = tmp_path / "models" / "own"
    model.mkdir(parents=True)
    text = tmp_path / "my.txt"
    text.write_text("text")
    (tmp_path / "link").symlink_to(model)
    reads = [model, str(text), None, "google-bert/bert-base-uncased", "A text.\0", "long " * 2000]
    read = "is read by the same command; give another --out"
    wrong = {model: read, text: read, tmp_path / "link": read, tmp_path / "models": f"contains {model}, which the "}
    for path, what in wrong.items():
        assert what in (refusal(check_place, path, reads=reads) or "accepted"), path
    for path in (tmp_path / "new", model / "below"):
        assert refusal(check_place, path, reads=reads) is None, path


def test_only_folders_of_headscope_are_replaced(tmp_path):
    marks = {
        MARK: json.dumps(mark_content(removed=["8-10"]), indent=2),
        "manifest.json": '{\n  "headscope": "0.1.0"}',
        "index.json": '{"format": "headscope maps"}',
    }
    others = {"config.json": '{"headscope": 1}', MARK: "{}", "manifest.json": '{"name": "my extension"}', "a": ""}
    accepted = {}
    for wanted, files in ((True, marks), (False, others)):
        for name, content in files.items():
            folder = tmp_path / str(len(accepted))
            folder.mkdir()
            (folder / name).write_text(content)
            accepted[folder] = (refusal(check_replaced, folder) is None, wanted)
    assert all(came == wanted for came, wanted in accepted.values()), accepted
    (tmp_path / "empty").mkdir()
    assert [refusal(check_replaced, tmp_path / name) for name in ("empty", "new", "0/headscope.json")] == [None] * 3
    assert refusal(check_replaced, folder) == (
        f"{folder} holds something that headscope did not write, so --force does not replace it; give another --out, "
        "or remove that folder yourself"
    )


def test_folders_of_results_have_no_way_out(tmp_path):
    run, other = tmp_path / "run", tmp_path / "other"
    (run / "tables").mkdir(parents=True)
    other.mkdir()
    (run / "tables" / "kept").symlink_to("nowhere")
    (run / "file").symlink_to(tmp_path / "my.txt")
    (tmp_path / "my.txt").write_text("text")
    assert refusal(check_contents, run) is None
    (run / "tables" / "below").symlink_to(other)
    expected = (
        f"{run / 'tables' / 'below'} is a link to another folder; expected a folder of results with regular files "
        "alone: remove it, or give another --out"
    )
    assert refusal(check_contents, run) == expected
    with pytest.raises(OutputError), folder_held(run):
        raise AssertionError
