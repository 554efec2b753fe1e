"""How long what heads write is, beside their weights: worked out again from the model's own modules."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headscope.attention.output_norms import OutputNorms
from headscope.views.capture import AttentionReader
from headscope.views.kept_layers import WrittenNorms
from headscope.views.view_payload import payload, written_bytes
from support.tiny_tokenizers import tiny_loaded
from support.views import read_bytes
from support.written_by_hand import lengths_by_hand

TEXT = "The cat sat on the mat, playing."


def by_hand(loaded):
    segment = SimpleNamespace(ids=np.array(loaded.tokenizer(TEXT)["input_ids"]))
    return lengths_by_hand(loaded.model, "llama", segment)[1]


def test_lengths_are_those_of_the_values_times_the_heads_rows_of_the_projection():
    loaded = tiny_loaded("llama")
    (kind,) = AttentionReader(loaded).view(TEXT).kinds
    np.testing.assert_allclose(kind.written.keys, by_hand(loaded), rtol=1e-4)
    assert (kind.written.rows == 1).all()
    assert kind.written.rows.shape == kind.weights.shape[:3]


def test_of_some_layers_the_lengths_are_theirs():
    loaded = tiny_loaded("llama")
    (kind,) = AttentionReader(loaded).view(TEXT, layers=(2,)).kinds
    assert kind.layers == (2,)
    np.testing.assert_allclose(kind.written.keys, by_hand(loaded)[1:2], rtol=1e-4)


@torch.no_grad()
def test_a_norm_behind_the_projection_scales_each_row():
    """Of Gemma 2: what a head writes goes through a norm, whose scale is that of all heads' sum in the row."""
    loaded = tiny_loaded("gemma2")
    kept = {}
    layers = loaded.model.layers
    hooks = [
        part.register_forward_hook(lambda _, __, out, name=(at, name): kept.__setitem__(name, out[0].double().clone()))
        for at, layer in enumerate(layers)
        for name, part in (("value", layer.self_attn.v_proj), ("sum", layer.self_attn.o_proj))
    ]
    (kind,) = AttentionReader(loaded).view(TEXT).kinds
    for hook in hooks:
        hook.remove()
    heads = kind.weights.shape[1]
    for at, layer in enumerate(layers):
        norm, matrix = layer.post_attention_layernorm, layer.self_attn.o_proj.weight.double()
        width = matrix.shape[1] // heads
        groups = kept[at, "value"].shape[-1] // width
        scale = (kept[at, "sum"].pow(2).mean(-1) + norm.eps).rsqrt()
        for head in range(heads):
            group = head * groups // heads
            values = kept[at, "value"][:, group * width : (group + 1) * width]
            written = (values @ matrix[:, head * width : (head + 1) * width].T) * (1 + norm.weight.double())
            exact = scale[:, None] * written.norm(dim=-1)[None]
            ours = kind.written.rows[at, head][:, None] * kind.written.keys[at, head][None]
            np.testing.assert_allclose(ours, exact.numpy(), rtol=2e-3)


@pytest.mark.parametrize("family", ["bert", "bloom"])
def test_of_an_encoder_and_of_what_hands_nothing_over_they_are_not_known(family):
    (kind,) = AttentionReader(tiny_loaded(family)).view(TEXT).kinds
    assert kind.written is None
    view = AttentionReader(tiny_loaded(family)).view(TEXT)
    assert all("written" not in fields for fields in payload(view)["kinds"])


def test_where_one_layer_is_not_known_or_gated_by_channel_none_is():
    layer = OutputNorms(keys=torch.ones(1, 2, 3), outputs=torch.ones(1, 2, 3))
    gated = dataclasses.replace(layer, pairs=torch.ones(1, 2, 3, 3))
    assert WrittenNorms.of_layers([layer, layer]).keys.shape == (2, 2, 3)
    assert WrittenNorms.of_layers([layer, gated]) is None
    assert WrittenNorms.of_layers([layer, None]) is None
    assert WrittenNorms.of_layers([]) is None


def test_a_page_has_them_in_half_precision_all_keys_first():
    (kind,) = (view := AttentionReader(tiny_loaded("llama")).view(TEXT)).kinds
    content = read_bytes(payload(view)["kinds"][0]["written"])
    numbers = np.frombuffer(content, "<f2", count=kind.written.keys.size + kind.written.rows.size)
    assert len(content) % 4 == 0
    keys, rows = np.split(numbers, [kind.written.keys.size])
    np.testing.assert_allclose(keys, kind.written.keys.ravel(), rtol=1e-3)
    np.testing.assert_allclose(rows, kind.written.rows.ravel(), rtol=1e-3)


def test_lengths_beyond_half_precision_are_left_out():
    norms = WrittenNorms(keys=np.array([[[7e4]]], dtype=np.float32), rows=np.array([[[1.0]]], dtype=np.float32))
    assert written_bytes(norms) == b""
