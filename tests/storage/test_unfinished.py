"""Leftovers of stopped runs are recognized by name, removed by the holder of the place, and never used as results."""

import os

import pytest

from headscope.storage.atomic import is_free, whole_or_absent, write_bytes
from headscope.storage.lock import place_held, scratch
from headscope.storage.places import aside_of, contents, is_own, lock_of, part_of, sweep

NAMES = ("out", "tables.parquet", "a b", "ß" * 120, "x" * 255, ".hidden", "new\nline")


@pytest.mark.parametrize("name", NAMES)
def test_own_names_are_known_fit_the_file_system_and_are_drawn_anew(name, tmp_path):
    path = tmp_path / name
    drawn = [make(path) for make in (part_of, part_of, aside_of, aside_of, lock_of)]
    assert len({each.name for each in drawn}) == 5
    for each in drawn:
        assert is_own(each)
        assert each.parent == tmp_path
        each.touch()  # the longest name that the file system allows
    assert list(contents(tmp_path)) == []
    assert is_free(tmp_path)


@pytest.mark.parametrize(
    "name", ["manifest.json", ".headscope.tmp", "x.headscope-part", ".x.headscope-part", ".x.0.headscope-part", ".git"]
)
def test_names_of_others_are_not_ours(name, tmp_path):
    (tmp_path / name).touch()
    sweep(tmp_path)
    assert list(contents(tmp_path)) == [tmp_path / name]


def test_long_names_that_begin_alike_have_places_of_their_own(tmp_path):
    one, other = tmp_path / ("x" * 200 + "1"), tmp_path / ("x" * 200 + "2")
    left = part_of(other)
    left.touch()
    with place_held(one), place_held(other):
        pass
    assert lock_of(one) != lock_of(other)
    assert not left.exists()
    left = part_of(other)
    left.touch()
    with place_held(one):
        assert left.exists()  # it belongs to another output


def test_who_holds_a_place_sweeps_what_was_left_of_it_and_of_nothing_else(tmp_path):
    mine, near = tmp_path / "out", tmp_path / "out2"
    for path in (part_of(mine), part_of(near)):
        path.mkdir()
        (path / "half").touch()
    with place_held(mine):
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out.") and "part" in path.name]
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".out2.")]
    assert not lock_of(mine).exists()


def test_a_folder_set_aside_by_a_killed_run_comes_back(tmp_path):
    path = tmp_path / "maps"
    old = aside_of(path)
    old.mkdir()
    (old / "inside").write_text("old")
    with place_held(path):
        assert (path / "inside").read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["maps"]


def test_a_folder_set_aside_is_removed_where_its_successor_stands(tmp_path):
    path = tmp_path / "maps"
    path.mkdir()
    (path / "inside").write_text("new")
    aside_of(path).mkdir()
    with place_held(path):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["maps"]
    assert (path / "inside").read_text() == "new"


def test_links_are_removed_and_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").touch()
    out = tmp_path / "out"
    out.mkdir()
    part_of(out / "x").symlink_to(precious)
    sweep(out)
    assert list(out.iterdir()) == []
    assert (precious / "thesis").exists()
    (tmp_path / "link").symlink_to(precious)
    part_of(precious / "y").touch()
    sweep(tmp_path / "link")
    assert len(list(precious.iterdir())) == 2


def test_what_is_written_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        own = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, own=own, name=name: (done.append(name), own(*given))[1])
    write_bytes(tmp_path / "file", b"content")
    assert done == ["fsync", "replace", "fsync"]  # the file, its name, the folder of the name
    del done[:]
    with whole_or_absent(tmp_path / "folder") as part:
        (part / "below").mkdir(parents=True)
        (part / "below" / "a").touch()
        (part / "b").touch()
    assert done == ["fsync"] * 4 + ["replace", "fsync"]


def test_errors_name_the_place_and_not_the_part(tmp_path):
    def fail():
        with whole_or_absent(tmp_path / "out") as part:
            (part / "missing" / "file").write_text("x")

    with pytest.raises(FileNotFoundError) as failed:
        fail()
    assert failed.value.filename == str(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_scratch_is_gone_with_its_block_and_a_living_ones_stays(tmp_path):
    dead = tmp_path / ".run.0123456789abcdef.headscope-scratch"
    dead.mkdir()
    lone = lock_of(tmp_path / ".run.fedcba9876543210.headscope-scratch")
    lone.touch()
    with scratch(tmp_path) as first:
        first.mkdir()
        assert not dead.exists()
        assert not lone.exists()
        with scratch(tmp_path) as second:
            second.mkdir()
            assert first.exists()
    assert list(tmp_path.iterdir()) == []
