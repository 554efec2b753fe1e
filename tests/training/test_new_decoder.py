"""A new decoder: its structure, and dropout in a family without its own."""

import pytest
import torch

from headscope.errors import ModelError
from headscope_train.byte_tokenizer import train_byte_tokenizer
from headscope_train.new_decoder import drop_residuals, new_decoder
from headscope_train.size import Size


@pytest.fixture(scope="module")
def tokenizer():
    return train_byte_tokenizer(lambda: ["a cat"], vocabulary=300)


def test_its_shape(tokenizer):
    start = new_decoder(Size(2, 4, 24), tokenizer, groups=2, max_length=40, seed=3)
    config = start.model.config
    assert start.name == "new Llama 2x4/2x24"
    assert (config.num_hidden_layers, config.num_attention_heads, config.num_key_value_heads) == (2, 4, 2)
    assert config.intermediate_size == 64  # 8/3 of 24
    assert config.max_position_embeddings == 40
    assert start.model.lm_head.weight is start.model.model.embed_tokens.weight
    assert tuple(start.model.model.layers[0].self_attn.k_proj.weight.shape) == (12, 24)
    again, other = (new_decoder(Size(2, 4, 24), tokenizer, groups=2, max_length=40, seed=seed).model for seed in (3, 4))
    name = "model.layers.1.mlp.up_proj.weight"
    assert torch.equal(start.model.get_parameter(name), again.get_parameter(name))
    assert not torch.equal(start.model.get_parameter(name), other.get_parameter(name))


def test_heads_of_an_odd_width(tokenizer):
    with pytest.raises(ModelError) as refused:
        new_decoder(Size(1, 3, 9), tokenizer, max_length=40)
    assert str(refused.value) == (
        "--size 1x3x9: a head would be 3 wide, and rotary positions need an even width; expected as 1x3x12"
    )


def test_residuals_are_dropped_in_training_alone(tokenizer):
    model = new_decoder(Size(1, 2, 8), tokenizer, max_length=40).model
    ids = torch.arange(3, 11)[None]
    plain = model.eval()(input_ids=ids).logits
    assert torch.equal(model.train()(input_ids=ids).logits, plain)
    drop_residuals(model, 0.5)
    assert torch.equal(model.eval()(input_ids=ids).logits, plain)
    one, other = (model.train()(input_ids=ids).logits for _ in range(2))
    assert not torch.equal(one, other)
    # Half of the embeddings are zero, the others doubled.
    embedded = model.model.embed_tokens(torch.arange(3, 203))
    weights = model.model.embed_tokens.weight[3:203]
    kept = embedded != 0
    assert torch.allclose(embedded[kept], 2 * weights[kept])
    assert 0.4 < kept.float().mean() < 0.6
