"""Half precision on the fused path: float32 of the model's queries and keys, a block at a time, against plain loops."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headscope.attention.fused.blocks import BlockSize
from headscope.attention.fused.single_pass import fused_attention
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.row_quantities import BY_CLASS, CLASSES, RowQuantity
from headscope.encoding.batching import collate
from support.inputs import made_up_segments, vocabulary
from support.kept_tiles import KeptTiles
from support.tiny_models import shared_tiny_model

N, BATCH, HEADS, WIDTH = 19, 2, 4, 8
HALF = [torch.bfloat16, torch.float16]
SMALL = BlockSize(scores=90, few=1, low=3)
MASKS = ["all", "causal", "window", "right padding", "left padding"]


def allowed_by(name):
    """Which keys a row may see, `[batch, row, key]`; the second segment is padded."""
    at = torch.arange(N)
    allowed = (at[None] <= at[:, None]).expand(BATCH, -1, -1).clone()
    if name == "all":
        return torch.ones_like(allowed)
    if name == "window":
        allowed &= at[:, None] - at[None] < 5
    if name == "right padding":
        allowed[1, :, 12:] = False
    if name == "left padding":
        allowed[1, :, :6] = False  # the first rows see nothing at all
    return allowed


def row_by_loop(query, keys, *, scaling, bias, classes, position, norms):
    """One row in float64, by plain sums: its weights, and its statistics from weights or from norms times weights."""
    scores = [scaling * sum(a * b for a, b in zip(query, key)) + c for key, c in zip(keys, bias)]
    scores = [math.exp(score - max(scores)) for score in scores]
    weights = [score / sum(scores) for score in scores]
    shares = [weight * norm for weight, norm in zip(weights, norms)]
    shares = [share / sum(shares) for share in shares]
    statistics = [0.0] * len(RowQuantity)
    for quantity, offset in ((RowQuantity.PREVIOUS, -1), (RowQuantity.CURRENT, 0), (RowQuantity.NEXT, 1)):
        if 0 <= position + offset < len(shares):
            statistics[quantity] = shares[position + offset]
    for column, of_class in zip(range(BY_CLASS.start, BY_CLASS.stop), CLASSES.values()):
        statistics[column] = sum(share for share, kind in zip(shares, classes) if kind in of_class)
    statistics[RowQuantity.ENTROPY] = -sum(share * math.log(share) for share in shares if share > 0)
    statistics[RowQuantity.MAX_WEIGHT] = max(shares)
    return weights, statistics


@pytest.mark.parametrize("size", [None, SMALL], ids=["whole", "in blocks"])
@pytest.mark.parametrize("biased", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("groups", [4, 2])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_half_precision_gives_what_plain_loops_give(dtype, name, groups, biased, size):
    generator = torch.Generator().manual_seed(3)

    def made(*shape, factor=1.0):
        return (factor * torch.randn(shape, generator=generator)).to(dtype)

    # As models hand them over: strided, the heads inside the rows.
    query = made(BATCH, N, HEADS, WIDTH, factor=2.0).transpose(1, 2)
    key, value = (made(BATCH, N, groups, WIDTH).transpose(1, 2) for _ in range(2))
    bias = made(1, HEADS, N, N, factor=4.0) if biased else None
    norms = torch.rand(BATCH, HEADS, N, generator=generator) + 0.1
    allowed = allowed_by(name)
    mask = torch.zeros(BATCH, 1, N, N, dtype=dtype)
    mask = mask.masked_fill(~allowed[:, None], torch.finfo(dtype).min)
    info = collate(made_up_segments(BATCH, seed=1, longest=N), vocabulary()).info
    classes = torch.randint(0, 4, (BATCH, N), generator=generator)
    keys = replace(info, classes=classes, valid=torch.ones(BATCH, N, dtype=torch.bool))
    arguments = {"mask": None if name == "all" else mask, "scaling": 0.3, "keys": keys, "start": 0, "square": True,
                 "bias": bias, "size": size}  # fmt: skip
    both = fused_attention(query, key, value, need_weights=True, norms=norms, **arguments)
    alone = fused_attention(query, key, value, need_weights=True, need_statistics=False, **arguments)
    assert both.output.dtype == alone.output.dtype == dtype
    assert {each.dtype for each in (both.weights, alone.weights, both.statistics, both.norm_statistics)} == {
        torch.float32
    }
    q, k, v = (each.double().tolist() for each in (query, key, value))
    added = torch.zeros(1, HEADS, N, N) if bias is None else bias
    shared = HEADS // groups
    for item, head, row in np.ndindex(BATCH, HEADS, N):
        seen = [j for j in range(N) if allowed[item, row, j]]
        if not seen:
            continue
        hidden = [j for j in range(N) if j not in seen]
        by_loop = {
            "scaling": 0.3,
            "bias": [float(added[0, head, row, j]) for j in seen],
            "classes": [int(classes[item, j]) for j in seen],
            # Counted from the first key that is seen; all between the first and the last of them are.
            "position": row - seen[0],
        }
        group_keys = [k[item][head // shared][j] for j in seen]
        for result, of_keys in ((both.statistics, torch.ones(N)), (both.norm_statistics, norms[item, head])):
            weights, statistics = row_by_loop(
                q[item][head][row], group_keys, norms=[float(of_keys[j]) for j in seen], **by_loop
            )
            statistics[RowQuantity.SINK_LOGIT] = 0.0
            assert result[item, head, row].tolist() == pytest.approx(statistics, abs=4e-6)
        written = [
            sum(weight * v[item][head // shared][j][c] for weight, j in zip(weights, seen)) for c in range(WIDTH)
        ]
        for result in (both, alone):
            assert result.weights[item, head, row, seen].tolist() == pytest.approx(weights, abs=2e-6)
            assert not result.weights[item, head, row, hidden].any()
            # The output alone is rounded to the model's precision: by half of its step at most.
            step = torch.finfo(dtype).eps / 2
            assert result.output[item, row, head].tolist() == pytest.approx(written, rel=1.01 * step, abs=1e-5)


class Widened(TorchDispatchMode):
    """Keeps how many numbers the largest float32 tensor has that something makes of half precision."""

    def __init__(self):
        super().__init__()
        self.most = 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        tensors = [each for each in tree_leaves(arguments) if isinstance(each, torch.Tensor)]
        made = isinstance(result, torch.Tensor) and "new_" not in str(function)
        if made and result.dtype == torch.float32 and any(each.dtype in HALF for each in tensors):
            self.most = max(self.most, result.numel())
        return result


@pytest.mark.parametrize("need_statistics", [True, False])
def test_no_layer_is_widened_whole(need_statistics):
    """Of 8 heads over 256 tokens a block has one head: so much of queries, keys and values is widened at once."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 8, 256, WIDTH, generator=generator).to(torch.bfloat16) for _ in range(3))
    info = collate(made_up_segments(1, seed=1, longest=N), vocabulary()).info
    keys = replace(info, classes=torch.zeros(1, 256, dtype=torch.long))
    with Widened() as widened:
        fused_attention(
            query, key, value, mask=None, scaling=0.3, keys=keys, start=0, square=True, need_weights=True,
            need_statistics=need_statistics, size=BlockSize(scores=1 << 16, few=1, low=64),
        )  # fmt: skip
    assert 0 < widened.most <= key.numel() // 8


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "mistral", "modernbert", "t5", "bart", "qwen3"])
def test_models_in_half_precision_take_the_fused_path(family, dtype):
    model = copy.deepcopy(shared_tiny_model(family)).to(dtype)
    anatomy = examine(model, vocabulary())
    name = str(dtype).removeprefix("torch.")
    assert anatomy.path == "fused"
    assert anatomy.path_note == (
        f"scores, softmax and statistics are computed in float32 of the model's {name} queries and keys"
    )

    source = ModelSource(model, anatomy, vocabulary(), [made_up_segments(3, longest=12)])
    keep = KeptTiles()
    source.run(keep, {"weights", "statistics", "written"})
    for tile in keep.tiles:
        assert tile.weights.dtype == tile.statistics.dtype == torch.float32
        sums = tile.weights.sum(-1)[tile.row_valid[:, None].expand(tile.weights.shape[:3])]
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-6, rtol=0)
