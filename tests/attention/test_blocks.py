"""Blocks of scores: they cover what can be seen once, compute little else, and change no number."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from headscope.attention.fused.blocks import BlockSize, cut_in_blocks, reach_of
from headscope.attention.fused.single_pass import fused_attention
from headscope.attention.row_statistics import row_statistics
from headscope.encoding.batching import collate
from support.inputs import made_up_segments, vocabulary

N, BATCH, HEADS = 37, 3, 4
SMALL = BlockSize(scores=150, few=1, low=3)
AT = torch.arange(N)


def allowed_by(name):
    """Which keys a row may see, `[batch, row, key]`; of the causal ones the second segment is padded."""
    causal = (AT[None] <= AT[:, None]).expand(BATCH, -1, -1).clone()
    if name == "all":
        return torch.ones_like(causal)
    if name == "window":
        causal &= AT[:, None] - AT[None] < 5
    if name == "both sides":
        return ((AT[:, None] - AT[None]).abs() < 6).expand(BATCH, -1, -1)
    if name == "right padding":
        causal[1, :, 20:] = False
    if name == "left padding":
        causal[1, :, :9] = False  # the first rows see nothing at all
    if name == "holes":
        causal[:, :, 7::5] = False
    return causal


MASKS = ["all", "causal", "window", "both sides", "right padding", "left padding", "holes"]


def additive(allowed, dtype=torch.float64):
    return torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)[:, None]


@pytest.mark.parametrize("name", MASKS)
def test_reach_is_what_a_plain_loop_finds(name):
    allowed = allowed_by(name).numpy()
    reach = reach_of(additive(allowed_by(name)), N)
    for rows in (slice(0, 1), slice(4, 11), slice(30, N), slice(0, N)):
        span, plain = reach.of_rows(rows)
        own = allowed[:, rows]
        seen = np.flatnonzero(own.any((0, 1)))
        if not len(seen):
            continue
        assert (span.start, span.stop) == (seen[0], seen[-1] + 1)
        assert own[:, :, plain].all()
        if name in ("causal", "both sides", "window"):
            everywhere = np.flatnonzero(own.all((0, 1)))
            assert plain.stop - plain.start == len(everywhere)
        assert reach.part(rows).of_rows(slice(0, rows.stop - rows.start)) == (span, plain)


def test_what_is_neither_hidden_nor_nothing_is_added():
    mask = additive(allowed_by("causal"))
    mask[0, 0, 12, 3] = -0.5
    span, plain = reach_of(mask, N).of_rows(slice(12, 14))
    assert (span, plain.stop - plain.start) == (slice(0, 14), 0)


def test_no_mask_hides_nothing():
    reach = reach_of(None, N)
    assert reach.of_rows(slice(3, 9)) == (slice(0, N), slice(0, N))
    assert (reach.varies, reach.widest) == (False, N)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_blocks_cover_every_key_that_is_seen_once(name, groups):
    allowed = allowed_by(name)
    blocks = cut_in_blocks(
        batch=BATCH, heads=HEADS, groups=groups, rows=N, keys=N, size=SMALL,
        reach=partial(reach_of, additive(allowed), N),
    )  # fmt: skip
    covered = torch.zeros(BATCH, HEADS, N, N, dtype=torch.long)
    for block in blocks:
        covered[block.items, block.heads, block.rows, block.keys] += 1
        shared = HEADS // groups
        assert (block.heads.start, block.heads.stop) == (block.groups.start * shared, block.groups.stop * shared)
        part = allowed[block.items, block.rows, block.keys]
        assert bool(part[..., block.plain].all())
        assert block.scores == covered[block.items, block.heads, block.rows, block.keys].numel()
    assert int(covered.max()) == 1
    assert bool(covered[allowed[:, None].expand_as(covered)].all())


@pytest.mark.parametrize(("name", "most"), [("causal", 0.55), ("window", 0.065), ("all", 1.0)])
def test_what_nobody_sees_is_not_computed(name, most):
    """At 2,048 tokens: half of a causal layer and the diagonal; of a window of 64, that and the height of a block."""
    at = torch.arange(2048)
    behind = at[:, None] - at[None]
    allowed = {"all": behind == behind, "causal": behind >= 0, "window": (behind >= 0) & (behind < 64)}[name]
    mask = additive(allowed[None], torch.float32)
    size = BlockSize(scores=1 << 18, few=32, low=64)
    blocks = list(
        cut_in_blocks(batch=1, heads=8, groups=2, rows=2048, keys=2048, size=size, reach=partial(reach_of, mask, 2048))
    )
    assert sum(block.scores for block in blocks) <= most * 8 * 2048**2
    assert max(block.scores for block in blocks) <= 1 << 18


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("biased", [None, "heads", "one"])
@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("start", [0, 11])
def test_blocks_change_no_number(name, biased, groups, start):
    """Against a plain softmax in float64, to 1e-12: output, weights, statistics of the rows that see something."""
    generator = torch.Generator().manual_seed(0)
    width, rows = 8, N - start
    query = 3 * torch.randn(BATCH, HEADS, rows, width, generator=generator, dtype=torch.float64)
    key, value = (torch.randn(BATCH, groups, N, width, generator=generator, dtype=torch.float64) for _ in range(2))
    bias = {
        None: None,
        "heads": torch.randn(1, HEADS, rows, N, generator=generator, dtype=torch.float64),
        "one": torch.randn(BATCH, 1, 1, N, generator=generator, dtype=torch.float64),
    }[biased]
    allowed = allowed_by(name)[:, start:]
    keys = collate(made_up_segments(BATCH, seed=1, longest=N), vocabulary()).info
    keys = replace(
        keys, classes=torch.randint(0, 4, (BATCH, N), generator=generator), valid=torch.ones(BATCH, N, dtype=torch.bool)
    )
    wide = [each.repeat_interleave(HEADS // groups, dim=1) for each in (key, value)]
    scores = 0.3 * query @ wide[0].transpose(2, 3) + (0.0 if bias is None else bias)
    weights = scores.masked_fill(~allowed[:, None], -torch.inf).softmax(-1)
    sees = allowed.any(-1)[:, None]
    for need_weights, need_statistics in ((True, True), (True, False), (False, True)):
        result = fused_attention(
            query, key, value, mask=additive(allowed), scaling=0.3, keys=keys, start=start, square=True,
            bias=bias, need_weights=need_weights, need_statistics=need_statistics, size=SMALL,
        )  # fmt: skip

        def compare(found, expected):
            at = sees.expand(BATCH, HEADS, rows)
            torch.testing.assert_close(found[at], expected[at], atol=1e-12, rtol=0)

        compare(result.output.transpose(1, 2), weights @ wide[1])
        if need_weights:
            compare(result.weights, weights)
            assert not (result.weights * ~allowed[:, None] * sees[..., None]).any()
        if need_statistics:
            exact = row_statistics(weights.nan_to_num(), key_classes=keys.classes, start=start, square=True)
            compare(result.statistics, exact)
