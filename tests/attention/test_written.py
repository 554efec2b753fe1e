"""What is written, worked by hand and by a plain loop; the fused path against both."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.attention.fused.blocks import BlockSize
from headscope.attention.fused.single_pass import fused_attention
from headscope.attention.output_norms import key_norms, norm_row_statistics, norm_shares, output_norms
from headscope.attention.row_quantities import RowQuantity
from headscope.encoding.batching import collate
from support.inputs import made_up_segments, vocabulary


def test_a_row_worked_by_hand():
    # Three keys of weight 1/2, 1/4, 1/4 that write 1, 2 and 0 units: 1/2 and 1/2 of the row's sum of 1.
    weights = torch.tensor([[[[0.5, 0.25, 0.25]]]])
    norms = torch.tensor([[[1.0, 2.0, 0.0]]])
    torch.testing.assert_close(norm_shares(weights, norms), torch.tensor([[[[0.5, 0.5, 0.0]]]]).double())
    classes = torch.tensor([[1, 0, 0]])
    row = norm_row_statistics(weights, norms, key_classes=classes, start=1)[0, 0, 0]
    assert row[RowQuantity.PREVIOUS] == 0.5
    assert row[RowQuantity.CURRENT] == 0.5
    assert row[RowQuantity.NEXT] == 0.0
    assert row[RowQuantity.MAX_WEIGHT] == 0.5
    assert row[RowQuantity.ENTROPY] == pytest.approx(math.log(2))


def test_heads_of_a_group_share_values_and_not_rows_of_the_projection():
    value = torch.tensor([[[[3.0, 4.0]]]])  # one group, one key
    factor = torch.stack([torch.eye(2), 2 * torch.eye(2), torch.diag(torch.tensor([1.0, 0.0]))])
    assert key_norms(value, factor)[0, :, 0].tolist() == [5.0, 10.0, 3.0]


def test_outputs_may_cancel_where_norms_do_not():
    # Two keys write opposite vectors: much is weighed, nothing comes out.
    value = torch.tensor([[[[1.0, 0.0], [-1.0, 0.0]]]])
    weights = torch.tensor([[[[0.5, 0.5]]]])
    output = (weights @ value).transpose(1, 2)
    assert output_norms(output, torch.eye(2)[None]).item() == 0.0
    assert norm_shares(weights, key_norms(value, torch.eye(2)[None])).tolist() == [[[[0.5, 0.5]]]]


def test_a_row_that_writes_nothing_is_left_out():
    weights, norms = torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([[[0.0, 1.0]]])
    assert norm_shares(weights, norms).isnan().all()
    classes = torch.zeros(1, 2, dtype=torch.long)
    assert norm_row_statistics(weights, norms, key_classes=classes).isnan().all()


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    groups=st.sampled_from([1, 2, 4]),
    causal=st.booleans(),
    silent=st.booleans(),
    scores=st.sampled_from([24, 200, 100_000]),
)
def test_the_fused_path_gives_what_the_plain_one_does(seed, groups, causal, silent, scores):
    generator = torch.Generator().manual_seed(seed)
    heads, width = 4, 3
    info = collate(made_up_segments(2, seed=seed), vocabulary()).info
    batch, length = info.ids.shape
    query = 3 * torch.randn(batch, heads, length, width, generator=generator, dtype=torch.float64)
    key, value = (torch.randn(batch, groups, length, width, generator=generator, dtype=torch.float64) for _ in range(2))
    factor = torch.randn(heads, width, width, generator=generator, dtype=torch.float64)
    if silent:  # a key of which nothing is written
        value[:, :, 1] = 0.0
    hidden = ~info.valid[:, None, None, :].expand(batch, 1, length, length)
    if causal:
        hidden = hidden | torch.ones(length, length, dtype=torch.bool).triu(1)
    hidden = hidden & ~torch.eye(length, dtype=torch.bool)
    mask = torch.zeros(hidden.shape, dtype=torch.float64).masked_fill(hidden, torch.finfo(torch.float64).min)
    norms = key_norms(value, factor)
    found = fused_attention(
        query, key, value, mask=mask, scaling=0.5, keys=info, start=0, square=True, need_weights=True,
        norms=norms, size=BlockSize(scores=scores, few=1, low=2),
    )  # fmt: skip
    assert found.weights is not None
    assert found.norm_statistics is not None
    expected = norm_row_statistics(found.weights, norms, key_classes=info.classes)
    valid = info.valid[:, None, :, None].expand(expected.shape)
    torch.testing.assert_close(
        found.norm_statistics[valid].double(), expected[valid], rtol=1e-9, atol=1e-9, equal_nan=True
    )
