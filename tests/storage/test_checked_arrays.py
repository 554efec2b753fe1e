"""Arrays with a hash of their content: changed or truncated files are ignored."""

import numpy as np
import pytest

from headscope.storage.files import read_arrays, write_arrays
from headscope.storage.sealed import read_checked, write_checked

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3, dtype=np.int32), "c": np.zeros((0, 4))}


def test_what_was_written_is_read(tmp_path):
    write_checked(tmp_path / "x.safetensors", ARRAYS, about={"key": "k"})
    found = read_checked(tmp_path / "x.safetensors")
    assert found is not None
    arrays, about = found
    assert about == {"key": "k"}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)


def test_the_same_content_is_the_same_file(tmp_path):
    about = {name: name for name in "abcdefgh"}
    for number in range(4):
        write_checked(tmp_path / str(number), ARRAYS, about=about)
    assert len({(tmp_path / str(number)).read_bytes() for number in range(4)}) == 1


@pytest.mark.parametrize("about", [{}, {"about": "no JSON"}, {"about": "[]"}, {"about": "{}"}, {"about": "1"}])
def test_arrays_that_were_written_by_others_are_passed_over(tmp_path, about):
    write_arrays(tmp_path / "x.safetensors", ARRAYS, about=about)
    assert read_checked(tmp_path / "x.safetensors") is None


def test_what_is_not_as_it_was_written_is_passed_over(tmp_path):
    path = tmp_path / "x.safetensors"
    assert read_checked(path) is None
    write_checked(path, ARRAYS, about={"key": "k"})
    whole = path.read_bytes()
    for place in range(8, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_checked(path) is None, place
    for length in (0, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert read_checked(path) is None, length
    path.write_bytes(whole)
    assert read_checked(path) is not None


@pytest.mark.parametrize("change", [{"a": np.arange(6.0)}, {"d": np.zeros(1)}, {"b": np.array(3)}])
def test_arrays_of_another_shape_type_or_name_have_another_hash(tmp_path, change):
    path = tmp_path / "x.safetensors"
    write_checked(path, ARRAYS, about={"key": "k"})
    _, about = read_arrays(path)
    write_arrays(path, {**ARRAYS, **change}, about=about)
    assert read_checked(path) is None
    path.unlink()
    path.mkdir()
    assert read_checked(path) is None
