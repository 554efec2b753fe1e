"""The divergence between heads: all pairs against the definition, scipy and a plain loop."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from headscope.analyses.distances.sums import jensen_shannon, pair_sums


def random_layers(layers, heads, rows, keys, *, seed=0, sharpness=3.0):
    generator = torch.Generator().manual_seed(seed)
    scores = sharpness * torch.randn((layers, heads, rows, keys), generator=generator)
    return list(torch.softmax(scores, dim=-1))


def plain_sums(layers):
    """The definition, pair by pair and row by row, in float64."""
    heads = torch.cat(layers).double()
    keys = heads.shape[2]
    smooth = (0.999 * heads + 0.001 / keys).numpy()
    out = []
    for one in range(len(smooth)):
        for other in range(one + 1, len(smooth)):
            total = squares = 0.0
            for p, q in zip(smooth[one], smooth[other]):
                m = (p + q) / 2
                row = 0.5 * np.sum(p * np.log(p / m)) + 0.5 * np.sum(q * np.log(q / m))
                total += row
                squares += row * row
            out.append((total, squares))
    return np.array(out).T.reshape(2, -1)


ROUNDING = 5e-7  # nats


def assert_exact(found, expected, rows):
    """Rounding of entropies in float32 alone."""
    np.testing.assert_allclose(found[0] / rows, expected[0] / rows, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(found[1] / rows, expected[1] / rows, rtol=0, atol=2 * ROUNDING)


def test_the_definition_is_scipys():
    left, right = (torch.rand(5, 7, dtype=torch.float64) for _ in range(2))
    left, right = left / left.sum(-1, keepdim=True), right / right.sum(-1, keepdim=True)
    smooth = [0.999 * rows.numpy() + 0.001 / 7 for rows in (left, right)]
    # scipy gives the root.
    expected = jensenshannon(*smooth, axis=1) ** 2
    np.testing.assert_allclose(jensen_shannon(left, right).numpy(), expected, rtol=1e-12)


def test_two_heads_that_share_nothing_are_ln_2_apart_but_for_smoothing():
    weights = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    p, q = 0.999 + 0.0005, 0.0005
    by_hand = p * math.log(2 * p) + q * math.log(2 * q)
    assert float(jensen_shannon(weights[:1], weights[1:])) == pytest.approx(by_hand, rel=1e-14)
    assert abs(by_hand - math.log(2)) < 0.005
    (found,) = pair_sums([[weights[:, None]]])
    np.testing.assert_allclose(found[:, 0], [by_hand, by_hand**2], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("layers", "heads", "rows", "keys"),
    [
        (1, 2, 1, 1),
        (1, 2, 3, 5),
        (2, 3, 16, 16),
        (1, 7, 17, 31),
        (3, 4, 33, 20),
        (2, 4, 5, 150),
        (1, 13, 16, 33),
        (1, 26, 18, 16),
        (2, 20, 70, 90),
    ],
)
def test_every_pair_against_a_plain_loop(layers, heads, rows, keys):
    """Odd and even numbers of heads, one block of rows and several."""
    weights = random_layers(layers, heads, rows, keys)
    (found,) = pair_sums([weights])
    assert_exact(found, plain_sums(weights), rows)


@pytest.mark.parametrize(("apart", "about"), [(0.1, 1e-3), (0.03, 1e-4), (1e-3, 1e-7)])
def test_heads_that_are_almost_alike_are_off_by_rounding_without_bias(apart, about):
    generator = torch.Generator().manual_seed(1)
    scores = 3 * torch.randn((1, 40, 64), generator=generator)
    noise = apart * torch.randn((6, 40, 64), generator=generator)
    weights = torch.softmax(scores + noise, dim=-1)
    expected = plain_sums([weights])
    assert about / 6 < expected[0].mean() / 40 < about * 6
    (found,) = pair_sums([[weights]])
    assert_exact(found, expected, 40)
    assert found.min() >= 0
    assert abs((found[0] - expected[0]).mean()) / 40 < ROUNDING / 20


def test_equal_heads_are_exactly_0_apart():
    """For each number of keys, in one block of rows and in several, with a thread or two."""
    generator = torch.Generator().manual_seed(1)
    before, apart = torch.get_num_threads(), []
    sizes = [(5, 3, keys) for keys in range(1, 70)] + [(2, 1, 4095), (40, 33, 63), (72, 50, 129)]
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for heads, rows, keys in sizes:
                row = torch.softmax(3 * torch.randn((1, rows, keys), generator=generator), dim=-1)
                if pair_sums([[row.repeat(heads, 1, 1)]])[0].any():
                    apart.append((threads, heads, rows, keys))
    finally:
        torch.set_num_threads(before)
    assert apart == []


def test_heads_that_are_the_same_are_not_apart_and_attention_that_is_all_on_one_key_is_no_trouble():
    rows = torch.eye(20)
    weights = torch.stack([rows, rows, rows.roll(1, 1), torch.full((20, 20), 0.05)])
    (found,) = pair_sums([[weights]])
    assert found[0][0] == found[1][0] == 0
    assert_exact(found, plain_sums([weights]), 20)


def test_parts_of_larger_tensors_and_many_segments_at_once():
    """Segments of several lengths cut out of padded batches, whose padding holds rubbish."""
    stacks, expected = [], []
    for seed, length in enumerate((9, 24, 16, 1)):
        own = random_layers(2, 5, length, length, seed=seed)
        padded = []
        for layer in own:
            room = torch.full((3, 5, 30, 30), float("nan"))
            room[1, :, 2 : 2 + length, 2 : 2 + length] = layer
            padded.append(room[1, :, 2 : 2 + length, 2 : 2 + length])
        stacks.append(padded)
        expected.append((plain_sums(own), length))
    for found, (sums, length) in zip(pair_sums(stacks), expected, strict=True):
        assert_exact(found, sums, length)


def test_keys_that_do_not_lie_side_by_side():
    weights = random_layers(1, 4, 20, 20)[0]
    turned = weights.transpose(1, 2).contiguous().transpose(1, 2)
    assert turned.stride(2) != 1
    np.testing.assert_array_equal(pair_sums([[turned]])[0], pair_sums([[weights]])[0])


def test_no_segment_and_a_single_head():
    assert pair_sums([]) == []
    assert pair_sums([[torch.ones(1, 2, 1)]])[0].shape == (2, 0)


def test_the_number_of_threads_changes_no_bit():
    weights = [random_layers(2, 6, 50, 40, seed=seed) for seed in range(3)]
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(pair_sums(weights))
    finally:
        torch.set_num_threads(before)
    for one, two, three in zip(*found):
        assert np.array_equal(one, two)
        assert np.array_equal(one, three)


def test_weights_of_another_precision_give_the_same():
    weights = random_layers(1, 4, 8, 8)
    double = [layer.double() for layer in weights]
    np.testing.assert_array_equal(pair_sums([double])[0], pair_sums([weights])[0])
