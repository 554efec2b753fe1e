"""Packed arrays: fewer bytes, and the same bits."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.storage.files import SPEC, pack, read_arrays, unpack, write_arrays


def same_bits(one, other):
    assert list(one) == list(other)
    for name, array in other.items():
        assert (one[name].dtype, one[name].shape) == (array.dtype, array.shape), name
        assert one[name].tobytes() == array.tobytes(), name


def size(arrays):
    return sum(array.nbytes for array in arrays.values())


SHAPES = [(9000,), (1, 8192), (64, 128), (16, 16, 32), (3, 5, 11, 50), (9000, 1), (1, 1, 9000)]


@settings(max_examples=60)
@given(
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(["int32", "int64", "uint8", "float32", "float64"]),
    rows=st.floats(0, 1),
    single=st.floats(0, 1),
    most=st.sampled_from([1, 100, 200, 40_000, 2**31 - 1]),
    below=st.booleans(),
    seed=st.integers(0, 99),
)
def test_what_is_packed_comes_back_bit_for_bit(shape, dtype, rows, single, most, below, seed):
    rng = np.random.default_rng(seed)
    least, most = (0, min(most, 255)) if dtype == "uint8" else (-most if below else 0, most)
    array = rng.uniform(least, most, shape).astype(dtype)
    array[rng.random(shape[0]) > rows] = 0
    array[rng.random(shape) > single] = 0
    arrays = {"b": np.arange(3), "a": array, "c": np.array(2.5)}
    packed = pack(arrays)
    same_bits(unpack(packed), arrays)
    assert size(packed) <= size(arrays) + 200


def test_zeros_of_either_sign_infinities_and_what_is_no_number_come_back():
    odd = np.zeros((64, 160))
    odd[3, :6] = [-0.0, np.nan, np.inf, -np.inf, 1e300, 5e-324]
    odd[4, 0] = -0.0
    with np.errstate(over="ignore"):
        single = odd.astype(np.float32)
    for array in (odd, single):
        same_bits(unpack(pack({"a": array})), {"a": array})


def test_counts_of_few_arcs_take_a_few_bits_each():
    """256 documents, 200 cells, 128 heads: each document has arcs in a third of the cells, found one time in ten."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, (256, 200, 128)).astype(np.int32)
    counts[rng.random((256, 200)) > 1 / 3] = 0
    packed = pack({"n_hits": counts})
    same_bits(unpack(packed), {"n_hits": counts})
    assert size(packed) < counts.nbytes / 35


def test_sums_that_do_not_get_smaller_stay_as_they_are():
    sums = np.random.default_rng(0).random((8, 1000))
    assert pack({"a": sums})["a"] is sums
    rounded = sums.astype(np.float32).astype(np.float64)
    assert size(pack({"a": rounded})) < 0.8 * rounded.nbytes


def test_small_arrays_stay_as_they_are():
    arrays = {"a": np.zeros((63, 65)), "b": np.array(3), "c": np.zeros(0), "d": np.zeros(32_767, dtype=bool)}
    packed = pack(arrays)
    assert all(packed[name] is array for name, array in arrays.items())
    assert SPEC not in packed


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[:-40],
        lambda a: a[::-1],
        lambda a: np.zeros_like(a),
        lambda a: np.frombuffer(zlib.compress(bytes(40_961)), dtype=np.uint8),
        lambda a: np.frombuffer(zlib.compress(bytes(10**9)), dtype=np.uint8),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(change):
    array = np.zeros((128, 80), dtype=np.int32)
    array[:10, ::3] = 7
    packed = pack({"a": array})
    with pytest.raises(ValueError, match=r"compressed|reshape|multiple"):
        unpack({**packed, "a": change(packed["a"])})


def test_files_hold_them_packed(tmp_path):
    array = np.zeros((64, 80))
    array[5] = 1 / 3
    path = tmp_path / "x.safetensors"
    write_arrays(path, {"a": array, "b": np.arange(4)}, about={"key": "k"})
    assert path.stat().st_size < 2000
    arrays, about = read_arrays(path)
    same_bits({name: arrays[name] for name in ("a", "b")}, {"a": array, "b": np.arange(4)})
    assert about == {"key": "k"}
