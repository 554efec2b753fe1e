"""Generated text: one pass over the whole gives each token the weights that it had when it was written."""

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.views.capture import AttentionReader
from support.tiny_models import CONFIGS
from support.tiny_tokenizers import tiny_loaded

STEPS = 6


def writer(family):
    """A tiny model with a head that predicts tokens, which never ends its text."""
    torch.manual_seed(3)
    config = CONFIGS["t5" if family == "deep-t5" else family]()
    if family == "t5":
        config.num_decoder_layers = config.num_layers
    config.pad_token_id, config.eos_token_id = 1, None
    auto = tf.AutoModelForSeq2SeqLM if family in ("t5", "deep-t5", "bart") else tf.AutoModelForCausalLM
    model = auto.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0 if parameter.ndim > 1 else 1.0)
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 1
    return model


def named(tokenizer, ids):
    """A tiny model may write ids that its tokenizer does not have."""
    return [name or f"⟨{number}⟩" for name, number in zip(tokenizer.convert_ids_to_tokens(ids), ids)]


def step_by_step(model, **inputs):
    with torch.no_grad():
        return model.generate(
            **inputs, max_new_tokens=STEPS, do_sample=False, output_attentions=True, return_dict_in_generate=True
        )


@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma2"])
def test_a_decoders_steps(family):
    model = writer(family)
    loaded = tiny_loaded(family, model)
    (kind,) = AttentionReader(loaded).view("the cat sat on", generate=STEPS).kinds
    prompt = loaded.tokenizer("the cat sat on", return_tensors="pt")["input_ids"]
    told = step_by_step(model, input_ids=prompt, attention_mask=torch.ones_like(prompt))
    ids = told.sequences[0].tolist()
    assert kind.queries.generated == prompt.shape[1] == 4
    assert len(kind.queries) == 4 + STEPS
    assert list(kind.queries.tokens) == named(loaded.tokenizer, ids)
    compared = 0
    for step, layers in enumerate(told.attentions):
        for layer, weights in enumerate(layers):
            rows, keys = weights.shape[2:]
            last = prompt.shape[1] + step
            ours = kind.weights[layer][:, last - rows : last, :]
            # A sliding window's cache may have dropped the keys that are out of sight.
            np.testing.assert_allclose(ours[..., last - keys : last], weights[0].numpy(), atol=5e-6)
            assert not ours[..., last:].any()
            assert not ours[..., : last - keys].any()
            compared += weights.numel()
    assert compared > 500
    assert len(told.attentions) == STEPS


@pytest.mark.parametrize("family", ["t5", "deep-t5", "bart"])
@pytest.mark.parametrize("begun", [None, "dogs"])
def test_an_encoder_decoders_steps(family, begun):
    model = writer(family)
    loaded = tiny_loaded(family.removeprefix("deep-"), model)
    view = AttentionReader(loaded).view("the cat sat on", decoder_text=begun, generate=STEPS)
    source = loaded.tokenizer("the cat sat on", return_tensors="pt")["input_ids"]
    start = [model.config.decoder_start_token_id]
    start += [] if begun is None else loaded.tokenizer(begun, add_special_tokens=False)["input_ids"]
    told = step_by_step(
        model,
        input_ids=source,
        attention_mask=torch.ones_like(source),
        decoder_input_ids=torch.tensor([start]),
        use_cache=family != "deep-t5",  # transformers' cache holds as many layers as the encoder has
    )
    kinds = {kind.kind: kind for kind in view.kinds}
    np.testing.assert_allclose(
        kinds["encoder"].weights, torch.stack([w[0] for w in told.encoder_attentions]).numpy(), atol=5e-6
    )
    assert kinds["decoder"].queries.generated == len(start)
    assert list(kinds["decoder"].queries.tokens) == named(loaded.tokenizer, told.sequences[0].tolist())
    for name, steps in (("decoder", told.decoder_attentions), ("cross", told.cross_attentions)):
        for step, layers in enumerate(steps):
            for layer, weights in enumerate(layers):
                rows, keys = weights.shape[2:]
                last = len(start) + step
                ours = kinds[name].weights[layer][:, last - rows : last, :keys]
                np.testing.assert_allclose(ours, weights[0].numpy(), atol=5e-6)


def test_the_end_of_a_text_ends_it():
    model = writer("gpt2")
    loaded = tiny_loaded("gpt2", model)
    reader = AttentionReader(loaded)
    (kind,) = reader.view("the cat", generate=STEPS).kinds
    third = int(loaded.tokenizer.convert_tokens_to_ids(kind.queries.tokens[4]))
    model.generation_config.eos_token_id = third
    (shorter,) = reader.view("the cat", generate=STEPS).kinds
    first = kind.queries.tokens.index(kind.queries.tokens[4], 2)
    assert shorter.queries.tokens == kind.queries.tokens[: first + 1]


def test_generated_pieces_make_words():
    model = writer("gpt2")
    loaded = tiny_loaded("gpt2", model)
    (kind,) = AttentionReader(loaded).view("the cat", generate=STEPS).kinds
    axis = kind.queries
    assert axis.words[:2] == (0, 1)
    for place in range(2, len(axis)):
        if place in axis.special:
            assert axis.words[place] is None
        elif axis.tokens[place].startswith("##") and axis.words[place - 1] is not None:
            assert axis.words[place] == axis.words[place - 1]


def test_prompt_and_generated_text_share_the_room():
    loaded = tiny_loaded("gpt2", writer("gpt2"))
    reader = AttentionReader(loaded)
    (kind,) = reader.view("cat " * 100, generate=STEPS, too_long="truncate").kinds
    assert len(kind.queries) == 80
    assert kind.queries.generated == 80 - STEPS
