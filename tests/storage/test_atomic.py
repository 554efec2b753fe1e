"""Files and folders that are whole or absent."""

import ast
import json
from contextlib import suppress
from pathlib import Path

import pytest

import headscope
from headscope.errors import OutputError
from headscope.storage import atomic
from headscope.storage.atomic import whole_or_absent
from headscope.storage.lock import place_held
from headscope.storage.places import MARK, mark_content


def fill(path, kind, text):
    if kind == "file":
        path.write_text(text)
    elif kind == "folder":
        path.mkdir()
        (path / "inside").write_text(text)
        (path / MARK).write_text(json.dumps(mark_content()))


def content(path):
    return (path / "inside" if path.is_dir() else path).read_text()


@pytest.mark.parametrize("new", ["file", "folder"])
@pytest.mark.parametrize("old", ["nothing", "file", "folder"])
def test_the_new_takes_the_place_of_the_old_when_it_is_whole(old, new, tmp_path):
    path = tmp_path / "below" / "out"
    path.parent.mkdir()
    fill(path, old, "old")
    with whole_or_absent(path, replace=True) as partial:
        fill(partial, new, "new")
        if old != "nothing":
            assert content(path) == "old"
    assert content(path) == "new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("new", ["file", "folder"])
@pytest.mark.parametrize("old", ["file", "folder"])
def test_the_old_stays(old, new, tmp_path):
    path = tmp_path / "out"
    fill(path, old, "old")

    def stopped():
        with whole_or_absent(path, replace=True) as partial:
            fill(partial, new, "half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with pytest.raises(OutputError), whole_or_absent(path):
        raise AssertionError("refused before anything is written")
    assert content(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_kill_while_folders_change_places_loses_neither(tmp_path, monkeypatch):
    """The old folder comes back when the path is next written."""
    path = tmp_path / "out"
    fill(path, "folder", "old")
    real, steps = atomic.os.rename, []

    def killed(*names):
        steps.append(names)
        if len(steps) == 1:
            real(*names)
        raise SystemExit

    monkeypatch.setattr(atomic.os, "rename", killed)
    monkeypatch.setattr(atomic, "remove", lambda _: None)  # a killed process removes nothing
    with suppress(SystemExit), whole_or_absent(path, replace=True) as partial:
        fill(partial, "folder", "new")
    assert not path.exists()
    monkeypatch.undo()
    with place_held(path):
        assert content(path) == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


# These modules restore an old folder that a killed run had set aside, and give up a cache to a quicker run.
OTHERS = {"storage/places.py", "analyses/probes/map_cache.py"}


def renames(path):
    """Return True if a module moves a file or folder, as opposed to renamed columns or replaced text."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    for call in calls:
        match call.func:
            case ast.Attribute(value=ast.Name("os"), attr="rename" | "renames" | "replace" | "link"):
                return True
            case ast.Attribute(value=ast.Name("shutil"), attr="move"):
                return True
            case ast.Attribute(attr="rename") if call.args:
                return True
            case ast.Attribute(attr="replace") if len(call.args) == 1 and not call.keywords:
                return True
    return False


def test_nothing_else_writes_beside_a_place_and_renames():
    root = Path(headscope.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if renames(path)}
    assert found == {"storage/atomic.py", *OTHERS}
