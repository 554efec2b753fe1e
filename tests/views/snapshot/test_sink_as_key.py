"""A learned sink in what is looked at: the last key of every map, named for what it is."""

import numpy as np
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.errors import InputError
from headscope.models.load_model import LoadedModel
from headscope.views.attention_snapshot import SINK, Axis
from headscope.views.capture import AttentionReader
from headscope.views.view_payload import payload
from support.inputs import PAD
from support.tiny_models import VOCABULARY
from support.tiny_tokenizers import tiny_tokenizer

TEXT = "the old bridge ."


@pytest.fixture(scope="module")
def loaded():
    torch.manual_seed(1)
    config = tf.GptOssConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        intermediate_size=48, vocab_size=VOCABULARY, pad_token_id=PAD, num_local_experts=2, num_experts_per_tok=1,
        rope_parameters={"rope_type": "default"},
    )  # fmt: skip
    model = tf.GptOssModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.copy_(torch.tensor([4.0, 0.0, 1.0, -2.0]))
    return LoadedModel(model=model, tokenizer=tiny_tokenizer("gpt2"), name="tiny")


def test_it_is_the_last_key_and_rows_sum_to_one(loaded):
    view = AttentionReader(loaded).view(TEXT, neuron=True)
    (kind,) = view.kinds
    n = len(kind.queries)
    assert kind.weights.shape == (2, 4, n, n + 1)
    ids = torch.tensor([loaded.tokenizer(TEXT)["input_ids"]])
    loaded.model.set_attn_implementation("eager")
    theirs = loaded.model(ids, output_attentions=True).attentions
    for layer in range(2):
        own = theirs[layer][0].detach().numpy()
        np.testing.assert_allclose(kind.weights[layer, ..., :-1], own, atol=2e-6)
        np.testing.assert_allclose(kind.weights[layer, ..., -1], 1 - own.sum(-1), atol=2e-6)
    assert kind.weights[:, 0, :, -1].min() > 0.5
    assert kind.keys.tokens == (*kind.queries.tokens, SINK)
    assert (kind.keys.sink, kind.queries.sink, kind.keys.special[-1]) == (n, None, n)
    assert kind.causal
    assert kind.neuron == ()
    assert kind.no_neuron.startswith("This model's heads have a learned sink")


def test_pages_are_told_of_it_and_others_are_not(loaded):
    (kind,) = payload(AttentionReader(loaded).view(TEXT))["kinds"]
    assert kind["keys"]["sink"] == len(kind["queries"]["tokens"])
    assert "sink" not in kind["queries"]


def test_attention_as_an_array_has_it(loaded):
    for level in ("token", "word"):
        found = hs.attention(TEXT, model=loaded.model, tokenizer=loaded.tokenizer, level=level)
        assert found["key"].values[-1] == SINK
        np.testing.assert_allclose(found.sum("key"), 1, atol=1e-5)


def test_it_stands_behind_the_tokens():
    axis = Axis(tokens=("a", "b"), words=(0, 1), word_text=("a", "b"), segment_b=1).beside_sink()
    assert (axis.words, axis.segment_b, axis.sink) == ((0, 1, None), 1, 2)
    with pytest.raises(InputError, match="a learned sink follows the tokens, at 1; got 0"):
        Axis(tokens=("a", "b"), sink=0)
