"""Tables of attention on the disk, and a cache of them of limited size."""

import os
import shutil

import numpy as np
import pytest
import torch

from headscope.analyses.probes import map_cache
from headscope.analyses.probes.map_cache import MapCache, TableWriter, WordMaps, cache_limit
from headscope.errors import OptionError, OutputError
from support.probe_data import made_up_tables, made_up_trees, on_disk


def test_tables_come_back_as_they_were_whatever_order_they_came_in(tmp_path):
    sentences = made_up_trees(40)
    tables = made_up_tables(sentences)
    writer = TableWriter(tmp_path / "maps", heads=3)
    order = np.random.default_rng(0).permutation(40)
    for number in order.tolist():
        writer.add(number + 7, tables[number])
    writer.close()
    maps = WordMaps(tmp_path / "maps")
    assert maps.heads == 3
    assert maps.numbers.tolist() == list(range(7, 47))
    for number, table in enumerate(tables):
        found = maps.table(number + 7)
        assert found.dtype == torch.float16
        np.testing.assert_array_equal(found.numpy(), table)


def test_a_set_that_was_not_finished_is_none(tmp_path):
    writer = TableWriter(tmp_path / "maps", heads=3)
    writer.add(0, made_up_tables(made_up_trees(1))[0])
    with pytest.raises(ValueError, match="is not a set of attention tables"):
        WordMaps(tmp_path / "maps")


def test_a_file_that_was_cut_is_refused(tmp_path):
    maps = on_disk(tmp_path / "maps", made_up_tables(made_up_trees(9)))
    assert len(maps.numbers) == 9
    tables = tmp_path / "maps" / "tables.f16"
    tables.write_bytes(tables.read_bytes()[:-2])
    with pytest.raises(ValueError, match=r"is of another version or not whole; make it again$"):
        WordMaps(tmp_path / "maps")


def test_nothing_is_read_into_memory_when_a_set_is_opened(tmp_path):
    """A sparse file, far larger than what opening it may take."""
    import tracemalloc

    folder = tmp_path / "maps"
    writer = TableWriter(folder, heads=1)
    writer.close()
    size = 20_000
    with (folder / "tables.f16").open("wb") as file:
        file.truncate(size * size * 2)
    np.save(folder / "index.npy", np.array([[0, 0, size]], dtype=np.int64))
    tracemalloc.start()
    maps = WordMaps(folder)
    assert maps.table(0).shape == (size, size, 1)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


TABLE = np.ones((64, 64, 4), dtype=np.float16)  # 32 KiB
ONE = TABLE.nbytes
GIB = (3.2 * ONE + 4096) / 2**30  # room for three


def write(path):
    writer = TableWriter(path, heads=4)
    writer.add(0, TABLE)
    writer.close()


@pytest.fixture
def cache(tmp_path):
    return MapCache(tmp_path / "cache", gib=GIB)


def names(cache):
    return sorted(path.name for path in cache.folder.iterdir())


def test_a_set_is_made_once(cache):
    made = []

    def make(path):
        made.append(path)
        write(path)

    for _ in range(2):
        np.testing.assert_array_equal(cache.get_or_make("a", make).table(0).numpy(), TABLE)
    assert len(made) == 1
    assert names(cache) == ["a"]


def test_a_set_that_was_stopped_leaves_nothing_and_is_made_anew(cache):
    def stop(path):
        write(path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get_or_make("a", stop)
    assert names(cache) == []
    cache.get_or_make("a", write)
    (cache.folder / "a" / "tables.f16").write_bytes(b"half")
    assert len(cache.get_or_make("a", write).numbers) == 1


def test_a_passing_set_is_gone_when_its_block_ends(cache):
    with cache.passing(write) as first, cache.passing(write) as second:
        assert len([path for path in cache.folder.iterdir() if path.is_dir()]) == 2
        assert len(first.numbers) == len(second.numbers) == 1
    assert names(cache) == []


def test_the_sets_read_last_stay(cache):
    for place, key in enumerate("abc"):
        cache.get_or_make(key, write)
        for path in [cache.folder / key, *(cache.folder / key).iterdir()]:
            os.utime(path, (1000 + place, 1000 + place))
    cache.get_or_make("a", write)  # read again
    cache.reserve({"new": ONE, "c": ONE}, what="train")
    assert names(cache) == ["a", "c"]


def test_what_a_killed_run_left_is_cleared_away_and_what_a_living_one_writes_is_not(cache):
    with cache.passing(write):
        left = cache.folder / ".x.0123456789abcdef.headscope-scratch"
        write(left)
        (living,) = (path for path in cache.folder.iterdir() if path.is_dir() and path != left)
        cache.reserve({"new": ONE}, what="train")
        assert [path for path in cache.folder.iterdir() if path.is_dir()] == [living]
    assert names(cache) == []


def test_more_than_the_limit_is_refused_before_anything_is_written(tmp_path):
    cache = MapCache(tmp_path / "cache", gib=0.5)
    with pytest.raises(OutputError) as refused:
        cache.reserve({"a": 3 << 29, "b": 1 << 29}, what="train.conllu and dev.conllu")
    assert str(refused.value) == (
        "the attention of train.conllu and dev.conllu takes 2.0 GiB on disk, more than the limit of 0.5 GiB; set "
        "HEADSCOPE_CACHE_GIB to more, or take fewer sentences with --max-inputs"
    )
    assert not cache.folder.exists()


def test_a_full_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    cache = MapCache(tmp_path / "cache", gib=9.0)
    monkeypatch.setattr(map_cache.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 1 << 28))
    with pytest.raises(OutputError) as refused:
        cache.reserve({"a": 1 << 30}, what="train.conllu")
    assert str(refused.value) == (
        f"the attention of train.conllu takes 1.0 GiB on disk, and {cache.folder} has 0.2 GiB free; free some space, "
        "set HF_ASSETS_CACHE to a folder on another disk, or take fewer sentences with --max-inputs"
    )


def test_the_limit_is_an_option(monkeypatch):
    monkeypatch.delenv("HEADSCOPE_CACHE_GIB", raising=False)
    assert cache_limit() == 20
    monkeypatch.setenv("HEADSCOPE_CACHE_GIB", "1.5")
    assert cache_limit() == 1.5
    for wrong in ("much", "0", "-1", "nan"):
        monkeypatch.setenv("HEADSCOPE_CACHE_GIB", wrong)
        with pytest.raises(OptionError) as refused:
            cache_limit()
        assert str(refused.value) == (
            f"HEADSCOPE_CACHE_GIB is '{wrong}'; expected how many GiB tables of attention may take, such as 20"
        )
