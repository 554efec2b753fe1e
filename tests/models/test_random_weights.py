"""The random control: embeddings kept, all else drawn anew, nothing shared, nothing disturbed."""

import random

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.models.in_memory import is_embedding, with_random_weights
from support.tiny_models import CONFIGS, tiny_model

# What is copied: tables of tokens, positions and types, and the norm beside them; written out family by family.
EMBEDDINGS = {
    "bert": [
        *("embeddings.word_embeddings", "embeddings.position_embeddings"),
        *("embeddings.token_type_embeddings", "embeddings.LayerNorm"),
    ],
    "distilbert": ["embeddings.word_embeddings", "embeddings.position_embeddings", "embeddings.LayerNorm"],
    "gpt2": ["wte", "wpe"],
    "t5": ["shared", "encoder.embed_tokens", "decoder.embed_tokens"],
    "bart": [
        "shared",
        *(f"{side}.{name}" for side in ("encoder", "decoder") for name in ("embed_tokens", "embed_positions")),
        *("encoder.layernorm_embedding", "decoder.layernorm_embedding"),
    ],
    "opt": ["decoder.embed_tokens", "decoder.embed_positions"],
    "modernbert": ["embeddings.tok_embeddings", "embeddings.norm"],
    "llama": ["embed_tokens"],
    "bloom": ["word_embeddings", "word_embeddings_layernorm"],
}
EMBEDDINGS |= dict.fromkeys(("roberta", "albert", "electra"), EMBEDDINGS["bert"])


def trained(family):
    """A model none of whose parameters is as an initializer leaves it."""
    model = tiny_model(family)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 + 0.1 * torch.rand(parameter.shape, generator=generator)
    return model


@pytest.mark.parametrize("family", sorted(EMBEDDINGS))
def test_embeddings_are_kept_and_all_else_is_drawn_anew(family):
    model = trained(family)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    config = model.config.to_dict()
    twin = with_random_weights(model, seed=3)
    assert type(twin) is type(model)
    assert {name for name, module in model.named_modules() if is_embedding(name, module)} == set(EMBEDDINGS[family])
    kept = tuple(f"{name}." for name in EMBEDDINGS[family])
    changed = 0
    theirs = dict(twin.named_parameters(remove_duplicate=False))
    for name, parameter in model.named_parameters(remove_duplicate=False):
        assert torch.equal(theirs[name], parameter) == name.startswith(kept), name
        changed += not name.startswith(kept)
    assert changed > 15
    # The model is as it was, and shares nothing with its twin.
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert model.config is not twin.config
    assert model.config.to_dict() == config
    storage = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers()) if tensor.numel()}
    assert not storage & {tensor.data_ptr() for tensor in (*twin.parameters(), *twin.buffers()) if tensor.numel()}
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])


@pytest.mark.parametrize("family", sorted(CONFIGS))
def test_every_family_has_a_control_that_attends_in_another_way(family):
    model = trained(family)
    twin = with_random_weights(model)
    assert not twin.training
    inputs = {"input_ids": torch.arange(5, 13)[None]}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    with torch.no_grad():
        one, other = (each(**inputs).last_hidden_state for each in (model, twin))
    assert torch.isfinite(other).all()
    assert not torch.allclose(one, other, atol=1e-3)
    names = [name for name, module in model.named_modules() if is_embedding(name, module)]
    assert names
    assert not any(part.isdigit() for name in names for part in name.split("."))


def test_the_initializer_is_the_models_own():
    """Spread of BERT's weights 0.02, norms 1, biases 0, as its configuration says."""
    config = tf.BertConfig(vocab_size=99, hidden_size=96, num_attention_heads=4, num_hidden_layers=2)
    config.initializer_range = 0.05
    twin = with_random_weights(tf.BertModel(config))
    layer = twin.encoder.layer[1]
    assert float(layer.attention.self.query.weight.detach().std()) == pytest.approx(0.05, rel=0.05)
    assert not layer.attention.self.query.bias.any()
    assert (layer.output.LayerNorm.weight == 1).all()


def test_seeds_and_global_randomness():
    model = trained("bert")
    torch.manual_seed(11)
    np.random.seed(11)
    random.seed(11)
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    one, again, other = (with_random_weights(model, seed=seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]
    name = "encoder.layer.0.attention.self.query.weight"
    for key in one:
        assert torch.equal(one[key], again[key])
    assert not torch.equal(one[name], other[name])
    # Whatever was drawn before does not matter.
    torch.rand(5)
    assert torch.equal(with_random_weights(model, seed=0).state_dict()[name], one[name])


def test_precision_follows_the_model():
    twin = with_random_weights(trained("bert").double())
    assert {parameter.dtype for parameter in twin.parameters()} == {torch.float64}


def test_a_model_with_a_head_that_shares_its_embeddings():
    config = CONFIGS["bert"]()
    model = tf.BertForMaskedLM(config).eval()
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.add_(1.0)
    twin = with_random_weights(model)
    assert torch.equal(twin.bert.embeddings.word_embeddings.weight, model.bert.embeddings.word_embeddings.weight)
    assert twin.cls.predictions.decoder.weight is twin.bert.embeddings.word_embeddings.weight


@pytest.mark.parametrize(
    ("name", "module", "expected"),
    [
        ("embeddings.word_embeddings", torch.nn.Embedding(3, 2), True),
        ("decoder.layernorm_embedding", torch.nn.LayerNorm(2), True),
        ("embeddings.norm", torch.nn.RMSNorm(2), True),
        # Within a layer, or not of the embeddings, or a projection.
        ("encoder.layers.0.embed_norm", torch.nn.LayerNorm(2), False),
        ("encoder.relative_attention_bias", torch.nn.Embedding(3, 2), False),
        ("final_layer_norm", torch.nn.LayerNorm(2), False),
        ("embeddings_project", torch.nn.Linear(2, 2), False),
    ],
)
def test_what_belongs_to_the_embeddings(name, module, expected):
    assert is_embedding(name, module) is expected


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_it_is_made_in_the_precision_of_the_model(dtype):
    """No larger copy of it is in memory on the way."""
    model = tiny_model("llama").to(dtype)
    before = torch.get_default_dtype()
    twin = with_random_weights(model, seed=3)
    assert {each.dtype for each in twin.parameters()} == {dtype}
    assert torch.get_default_dtype() is before
    assert torch.equal(*(with_random_weights(model, seed=3).layers[0].mlp.up_proj.weight for _ in range(2)))


def test_a_failed_one_leaves_torchs_default_precision(monkeypatch):
    model = tiny_model("llama").to(torch.bfloat16)

    def fail(*given):
        raise MemoryError

    monkeypatch.setattr(type(model), "__init__", fail)
    with pytest.raises(MemoryError):
        with_random_weights(model)
    assert torch.get_default_dtype() is torch.float32
