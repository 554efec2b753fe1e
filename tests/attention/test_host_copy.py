"""Tensors that are copied to the host together arrive as they were, whatever their types and shapes."""

import numpy as np
import pytest
import torch

from headscope.attention.host_copy import HostCopy, packed, unpacked

TENSORS = [
    torch.arange(7, dtype=torch.float64) / 3,
    torch.tensor([[True, False, True]]),
    torch.zeros(0, 4),
    torch.tensor(2.5, dtype=torch.float32),
    torch.arange(12, dtype=torch.int64).view(3, 4).t(),
    torch.arange(5, dtype=torch.uint8)[1:4],
    torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    torch.arange(6, dtype=torch.int32)[::2],
]


def test_bytes_become_the_tensors_again():
    whole = packed(TENSORS)
    assert whole.dtype == torch.uint8
    for before, after in zip(TENSORS, unpacked(whole, TENSORS), strict=True):
        assert before.dtype == after.dtype
        assert torch.equal(before, after)


def test_handles_have_their_arrays_once_all_was_fetched():
    copy = HostCopy()
    handles = [copy.add(tensor) for tensor in TENSORS if tensor.dtype != torch.bfloat16]
    with pytest.raises(ValueError, match=r"was not copied to the host yet; expected HostCopy.fetch\(\) before"):
        _ = handles[0].array
    copy.fetch()
    for tensor, handle in zip((each for each in TENSORS if each.dtype != torch.bfloat16), handles, strict=True):
        np.testing.assert_array_equal(handle.array, np.asarray(tensor))
        assert handle.array.dtype == np.asarray(tensor).dtype
