"""Tables of attention come back off the disk as they were, or not at all."""

import numpy as np
import pytest
import torch

from headscope.analyses.probes.map_cache import TableWriter, WordMaps
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
