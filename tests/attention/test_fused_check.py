"""When the fused path is taken: where it gives the model's own attention, up to what float32 rounds off its scores."""

import copy

import pytest
import torch
from torch import nn

from headscope.attention.fused import single_pass
from headscope.attention.model import tap_trial
from headscope.attention.model.examination import examine
from headscope.attention.model.tap import AttentionCall
from headscope.attention.model.tap_trial import why_not_fused
from headscope.encoding.batching import collate
from support.inputs import made_up_segments, shared_anatomy, vocabulary
from support.tiny_models import shared_tiny_model

KEYS = collate(made_up_segments(2, seed=1, longest=9), vocabulary()).info
ROWS = KEYS.ids.shape[1]


class Plain(nn.Module):
    """An attention module: `eager_attention_forward` beside it is its eager function."""

    factor = 1.0
    squeezed = False


def eager_attention_forward(module, query, key, value, mask, *, scaling, position_bias=None, **_):
    scores = module.factor * scaling * query @ key.transpose(2, 3)
    if module.squeezed and query.dtype == torch.float64:
        raise TypeError("expected single precision")
    if position_bias is not None:
        scores = scores + position_bias
    weights = (scores if mask is None else scores + mask).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


def call(dtype=torch.float32, *, size=1.0, bias=None, module=None, **options):
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 3, ROWS, 8, generator=generator) for _ in range(3))
    mask = torch.zeros(1, 1, ROWS, ROWS, dtype=dtype).masked_fill(
        torch.ones(ROWS, ROWS).triu(1).bool(), torch.finfo(dtype).min
    )
    if bias is not None:
        options["position_bias"] = (bias * torch.randn(1, 3, ROWS, ROWS, generator=generator)).to(dtype)
    tensors = [each.to(dtype) for each in (size * query, key, value, mask)]
    return AttentionCall(0, module or Plain(), *tensors, {"scaling": 0.35, **options})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("size", "bias"), [(1.0, None), (1.0, 4.0), (30.0, None), (10.0, 40.0)])
def test_large_scores_do_not_lose_the_fused_path(dtype, size, bias):
    assert why_not_fused(call(dtype, size=size, bias=bias), KEYS) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_another_attention_is_seen_whatever_the_size_of_its_scores(dtype):
    """A thousandth more is a hundred times what is allowed, for small scores as for large ones."""
    module = Plain()
    module.factor = 1.001
    for size in (1.0, 10.0):
        reason = why_not_fused(call(dtype, size=size, module=module), KEYS)
        assert reason.startswith("it is off by ")
        off, allowed = (float(word) for word in reason.split() if "e-" in word)
        assert off > 20 * allowed


def test_values_that_are_not_multiplied_are_seen(monkeypatch):
    """Right weights with another output are no attention, either."""

    def wrong(*given, **named):
        result = single_pass.fused_call(*given, **named)
        result.output.mul_(1.02)
        return result

    monkeypatch.setattr(tap_trial, "fused_call", wrong)
    assert why_not_fused(call(torch.float32), KEYS).startswith("it is off by ")
    assert why_not_fused(call(torch.bfloat16), KEYS).startswith("it is off by ")


def test_reasons_in_words():
    assert why_not_fused(call(softcap=5.0), KEYS) == "scores are capped"
    assert why_not_fused(call(position_bias=torch.zeros(3, ROWS, ROWS)), KEYS) == (
        "the position bias is not added to scores"
    )
    assert why_not_fused(call(sinks=torch.zeros(2)), KEYS) == ("its learned sink is neither one a head nor one a row")
    module = Plain()
    module.squeezed = True
    assert why_not_fused(call(module=module), KEYS) == (
        "the model's own function does not compute in float64 (TypeError)"
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_biases_of_scale_four_keep_the_fused_path(dtype):
    model = copy.deepcopy(shared_tiny_model("t5"))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "relative_attention_bias" in name:
                parameter.copy_(4 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    assert examine(model.to(dtype), vocabulary()).path == "fused"


def test_what_is_not_fused_says_why():
    assert shared_anatomy("gemma2", has_cls=False).path_note == (
        "attention is computed by the model's own function, which takes longer than the fused path: scores are capped"
    )
    assert shared_anatomy("bloom", has_cls=False).path_note == (
        "attention is what output_attentions gives: the model does not use transformers' attention interface in every "
        "layer"
    )
    assert shared_anatomy("bert", has_cls=True).path_note is None
