"""Rows that a device selects are those that the host does, among others that do not count."""

import numpy as np
import pytest
import torch

from headscope.statistics.sums.row_selection import (
    hashes_on_device,
    in_signed_order,
    row_hashes,
    segment_keys,
    selected_on_device,
    selected_on_host,
)

CPU = torch.device("cpu")
KEYS = segment_keys([("a", 0), ("b", 3), ("c", 1)], seed=7)
POSITIONS = np.arange(24).reshape(1, 24) + np.array([[0], [5], [0]])
HEADS = 4


def hashes():
    return row_hashes(KEYS, POSITIONS, kind="decoder", layer=2, heads=HEADS)


def test_hashes_of_a_device_are_those_of_the_host():
    there = hashes_on_device(KEYS, POSITIONS, device=CPU, kind="decoder", layer=2, heads=HEADS)
    np.testing.assert_array_equal(there.numpy(), in_signed_order(hashes()))
    order = np.argsort(hashes().reshape(-1))
    np.testing.assert_array_equal(order, np.argsort(there.numpy().reshape(-1)))


@pytest.mark.parametrize("each_head", [1, 5])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_a_device_selects_what_the_host_does(each_head, share, most):
    rng = np.random.default_rng(3)
    rows = rng.random((3, HEADS, 24)) < share
    cell = np.arange(HEADS)[:, None] * each_head + rng.integers(0, each_head, size=rows.shape)
    least = np.full(HEADS * each_head, np.iinfo(np.uint64).max, dtype=np.uint64)
    least[::2] = np.uint64(1 << 63)
    here = selected_on_host(rows, cell, hashes(), least, first=11, most=most)
    there = selected_on_device(
        torch.from_numpy(rows),
        torch.from_numpy(cell),
        torch.from_numpy(in_signed_order(hashes())),
        torch.from_numpy(in_signed_order(least)),
        first=11,
        most=most,
        each_head=each_head,
    )
    assert len(there.at) == HEADS * min(72, most * each_head)
    fields = ("cell", "hash", "item", "head", "at")
    found = {tuple(int(getattr(there, name)[at]) for name in fields) for at in there.kept.nonzero()[:, 0]}
    expected = {tuple(int(getattr(here, name)[at]) for name in fields) for at in range(len(here.at))}
    assert found == expected
    assert bool(expected) == (share > 0)
    for item, head, at in {each[2:] for each in expected}:
        assert rows[item, head, at]
