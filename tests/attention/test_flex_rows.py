"""Row statistics by flex attention are those of the weights, and those that the tiles give, to 1e-12 in float64."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from headscope.attention.flex.layer import flex_layer, flex_mask, why_not_flex
from headscope.attention.flex.received import received_attention
from headscope.attention.flex.row_sums import flex_rows
from headscope.attention.fused.single_pass import fused_attention
from headscope.attention.model.learned_sink import sink_logits
from headscope.attention.model.tap import AttentionCall, bias_of
from headscope.attention.row_quantities import RowQuantity
from headscope.attention.row_statistics import row_statistics
from headscope.attention.vectors.output_norms import norm_row_statistics
from headscope.encoding.batching import collate
from support.flex_on_cpu import flex_on_cpu
from support.inputs import made_up_segment, made_up_segments, vocabulary

KEYS = collate(made_up_segments(3, seed=1, longest=19), vocabulary()).info
ROWS = KEYS.ids.shape[1]
HEADS, SCALING = 4, 0.35
AT = torch.arange(ROWS)
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)

# What hides keys, and what is passed beside; sinks leave less than 1 to the keys.
MASKS = {
    "none": None,
    "causal": (AT[None] <= AT[:, None])[None],
    "window": ((AT[None] <= AT[:, None]) & (AT[None] > AT[:, None] - 4))[None],
    "window on both sides": ((AT[None] - AT[:, None]).abs() <= 2)[None],
    "padding": KEYS.valid[:, None],
    "causal and padding": (AT[None] <= AT[:, None])[None] & KEYS.valid[:, None],
}
OPTIONS = {
    "plain": {},
    "alibi": {"position_bias": SLOPES[None, :, None, None] * (AT[None] - AT[:, None]).double()},
    "alibi, one row": {"position_bias": SLOPES[None, :, None, None] * AT.double()},
    "sink": {"s_aux": torch.tensor([-1.0, 0.0, 2.0, 9.0], dtype=torch.float64)},
    "sink and alibi": {
        "s_aux": torch.tensor([-1.0, 0.0, 2.0, 9.0], dtype=torch.float64),
        "position_bias": SLOPES[None, :, None, None] * (AT[None] - AT[:, None]).double(),
    },
}


def call_of(mask, options, *, groups=HEADS):
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(3, number, ROWS, width, generator=generator, dtype=torch.float64)
        for number, width in ((HEADS, 8), (groups, 8), (groups, 6))
    )
    visible = MASKS[mask]
    added = None
    if visible is not None:
        lowest = torch.finfo(torch.float64).min
        added = torch.zeros(visible.shape, dtype=torch.float64).masked_fill(~visible, lowest)[:, None]
    return AttentionCall(0, nn.Identity(), query, key, value, added, {"scaling": SCALING, **options})


def rows_of(call, *, norms=None, sink=True):
    layer = flex_layer(call, flex_mask(call.mask, rows=ROWS))
    if not sink:
        layer = dataclasses.replace(layer, sink=None)
    with flex_on_cpu(), torch.inference_mode():
        return flex_rows(layer, keys=KEYS, square=True, norms=norms)


def weights_of(call):
    """Weights, and those of the sink, as a table of all scores gives them."""
    shared = HEADS // call.key.shape[1]
    scores = SCALING * call.query @ call.key.repeat_interleave(shared, dim=1).transpose(2, 3)
    if "position_bias" in call.options:
        scores = scores + call.options["position_bias"]
    if call.mask is not None:
        scores = scores.masked_fill(call.mask < -1, -torch.inf)
    if "s_aux" not in call.options:
        return scores.softmax(-1), None
    logits = call.options["s_aux"][None, :, None, None].expand(*scores.shape[:3], 1)
    whole = torch.cat([scores, logits], dim=-1).softmax(-1)
    return whole[..., :-1], whole[..., -1]


CASES = [(mask, options, groups) for mask in MASKS for options in OPTIONS for groups in (HEADS, 2)]


@pytest.mark.parametrize(("mask", "options", "groups"), CASES)
def test_rows_are_those_of_the_weights_and_of_the_tiles(mask, options, groups):
    call = call_of(mask, OPTIONS[options], groups=groups)
    assert why_not_flex(call) is None
    rows = rows_of(call)
    weights, sink = weights_of(call)
    values = call.value.repeat_interleave(HEADS // groups, dim=1)
    torch.testing.assert_close(rows.output, weights @ values, rtol=0, atol=1e-12)
    expected = row_statistics(weights, key_classes=KEYS.classes, sink=sink)
    torch.testing.assert_close(rows.statistics, expected, rtol=0, atol=1e-12)
    assert (rows.sink is None) == (sink is None)
    if sink is not None:
        torch.testing.assert_close(rows.sink, sink, rtol=0, atol=1e-12)
    tiles = fused_attention(
        call.query,
        call.key,
        call.value,
        mask=call.mask,
        bias=bias_of(call, slice(None)),
        sink=sink_logits(call),
        scaling=SCALING,
        keys=KEYS,
        start=0,
        square=True,
        need_weights=False,
    )
    torch.testing.assert_close(rows.statistics, tiles.statistics, rtol=0, atol=1e-12)
    torch.testing.assert_close(rows.output.transpose(1, 2), tiles.output, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("mask", "options", "groups"), CASES)
def test_norm_weighted_rows_are_those_of_the_norm_shares(mask, options, groups):
    """A key of norm 0 has no share; a row that sees no other writes nothing."""
    call = call_of(mask, OPTIONS[options], groups=groups)
    norms = torch.rand(3, HEADS, ROWS, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    norms[:, 1, 0] = norms[:, 2, 3:6] = 0.0
    weights, _ = weights_of(call)
    expected = norm_row_statistics(weights, norms, key_classes=KEYS.classes)
    rows = rows_of(call, norms=norms, sink=False).statistics
    assert bool(expected.isnan().any()) == (mask not in ("none", "padding", "window on both sides"))
    torch.testing.assert_close(rows, expected, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("mask", "options", "groups"), CASES)
def test_a_key_receives_its_weights_over_the_rows_that_count(mask, options, groups):
    call = call_of(mask, OPTIONS[options], groups=groups)
    weights, sink = weights_of(call)
    layer = flex_layer(call, flex_mask(call.mask, rows=ROWS))
    with flex_on_cpu(), torch.inference_mode():
        received = received_attention(layer, rows_of(call).lse, KEYS.valid)
    counted = torch.where(KEYS.valid[:, None, :, None], weights, 0.0).sum(2)
    torch.testing.assert_close(received, counted, rtol=0, atol=1e-12)
    by_group = received.unflatten(1, (groups, -1)).sum(2)
    torch.testing.assert_close(by_group, counted.unflatten(1, (groups, -1)).sum(2), rtol=0, atol=1e-12)
    assert sink is None or bool((received.sum(-1) < KEYS.lengths[:, None]).all())


def looks_at(target, *, causal=False):
    """A head of which row i puts nearly all its weight on key target[i]."""
    width = len(target)
    key = torch.eye(width, dtype=torch.float64)[None, None]
    query = 60.0 * torch.eye(width, dtype=torch.float64)[target][None, None]
    mask = None
    if causal:
        hidden = torch.ones(width, width).triu(1).bool()
        mask = torch.zeros(1, 1, width, width, dtype=torch.float64).masked_fill(hidden, torch.finfo(torch.float64).min)
    return AttentionCall(0, nn.Identity(), query, key, key, mask, {"scaling": 1.0})


@pytest.mark.parametrize("causal", [False, True])
def test_who_attends_to_whom(causal):
    """Row 1 looks at key 0, row 2 at itself, row 3 at key 2, and, where it may, row 0 at key 1, row 4 at key 5."""
    keys = collate([made_up_segment(np.random.default_rng(4), 6, document="d")], vocabulary()).info
    width = keys.ids.shape[1]
    target = torch.arange(width)
    target[1], target[3] = 0, 2
    if not causal:
        target[0], target[4] = 1, 5
    call = looks_at(target, causal=causal)
    layer = flex_layer(call, flex_mask(call.mask, rows=width))
    with flex_on_cpu(), torch.inference_mode():
        rows = flex_rows(layer, keys=keys, square=True)
    one_hot = np.zeros((width, width))
    one_hot[np.arange(width), target] = 1
    columns = {
        RowQuantity.PREVIOUS: [float(j == i - 1) for i, j in enumerate(target.tolist())],
        RowQuantity.CURRENT: [float(j == i) for i, j in enumerate(target.tolist())],
        RowQuantity.NEXT: [float(j == i + 1) for i, j in enumerate(target.tolist())],
        RowQuantity.MAX_WEIGHT: [1.0] * width,
        RowQuantity.ENTROPY: [0.0] * width,
    }
    assert columns[RowQuantity.PREVIOUS][1] == columns[RowQuantity.PREVIOUS][3] == 1.0
    for quantity, expected in columns.items():
        np.testing.assert_allclose(rows.statistics[0, 0, :, quantity], expected, atol=1e-12)
    # Values are one-hot by key: row i of the output says which key it read.
    np.testing.assert_allclose(rows.output[0, 0], one_hot, atol=1e-12)
    scores = call.query @ call.key.transpose(2, 3)
    seen = scores if call.mask is None else scores.masked_fill(call.mask < 0, -torch.inf)
    with flex_on_cpu(), torch.inference_mode():
        received = received_attention(layer, seen.logsumexp(-1), torch.ones(1, width, dtype=torch.bool))
    np.testing.assert_allclose(received[0, 0], one_hot.sum(0), atol=1e-12)


def test_a_mask_that_adds_is_left_to_the_tiles():
    mask = torch.zeros(1, 1, 3, 3)
    mask[0, 0, 1, 1] = -2.0
    assert flex_mask(mask, rows=3) is None


def test_what_flex_does_not_give_is_said():
    plain = call_of("causal", {})
    assert why_not_flex(plain) is None
    capped = dataclasses.replace(plain, options={"softcap": 30.0})
    assert why_not_flex(capped) == (
        "scores are capped, and the sum of weights times scores is then no product with summed keys"
    )
    curved = {"position_bias": -(AT[None] - AT[:, None]).abs().double()[None, None]}
    assert why_not_flex(call_of("causal", curved)) == (
        "the position bias is not linear in the key's position, and the entropy needs its mean under the weights"
    )
    whole = dataclasses.replace(plain, mask=torch.ones(3, HEADS, ROWS, ROWS))
    assert why_not_flex(whole) == "the mask is not added to scores, the same for all heads"
