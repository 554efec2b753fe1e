"""A model in memory with its vocabulary head: the head is left alone but for a loss, and nothing else differs."""

import pandas as pd
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.analyses.norms.compute import NormAccumulator
from headscope.models.in_memory import model_in_memory, without_head
from support.tiny_models import CONFIGS
from support.tiny_tokenizers import tiny_tokenizer

TEXT = ["the cat sat on the mat, and ran.\nthe dogs ran.", "the cat sat on the dog."]
CLASSES = {
    "llama": tf.AutoModelForCausalLM,
    "gpt2": tf.AutoModelForCausalLM,
    "bloom": tf.AutoModelForCausalLM,
    "bert": tf.AutoModelForMaskedLM,
    "bart": tf.AutoModelForSeq2SeqLM,
}


@pytest.fixture(params=sorted(CLASSES))
def headed(request):
    torch.manual_seed(0)
    config = CONFIGS[request.param]()
    config.pad_token_id = 1
    return CLASSES[request.param].from_config(config), tiny_tokenizer(request.param)


@pytest.fixture
def scored(headed):
    """How many positions the head was given, call by call."""
    given = []
    headed[0].get_output_embeddings().register_forward_pre_hook(lambda _, value: given.append(value[0][..., 0].numel()))
    return given


def test_no_scores_are_computed_where_no_loss_is_wanted(headed, scored):
    model, tokenizer = headed
    whole = hs.stats(model, tokenizer=tokenizer, text=TEXT, max_length=32)
    hs.scan(TEXT, [NormAccumulator()], model=model, tokenizer=tokenizer, max_length=32)
    hs.attention(TEXT[1], model=model, tokenizer=tokenizer)
    assert scored == []
    # The numbers are those of the model below, to the last digit.
    below = hs.stats(model.base_model, tokenizer=tokenizer, text=TEXT, max_length=32)
    pd.testing.assert_frame_equal(whole.stats, below.stats, check_exact=True)
    with torch.no_grad():
        ids = {"input_ids": torch.tensor([[2, 30, 31, 32, 33]])}
        states = [
            each(**ids, output_hidden_states=True)
            for each in (model.eval(), without_head(model_in_memory(*headed)).model)
        ]
    for name in ("hidden_states", "encoder_hidden_states", "decoder_hidden_states"):
        for ours, theirs in zip(states[1].get(name) or (), states[0].get(name) or (), strict=True):
            assert torch.equal(ours, theirs)


def test_a_loss_has_its_scores(headed, scored):
    model, tokenizer = headed
    if model.config.model_type == "bloom":
        pytest.skip("no gradient is taken of a model that is read through output_attentions")
    tokenizer.mask_token = "[UNK]"
    hs.importance(model, tokenizer=tokenizer, text=TEXT, max_length=32)
    assert scored


def test_the_run_is_still_that_of_the_whole_model(headed):
    model, tokenizer = headed
    before = {name: value.clone() for name, value in model.state_dict().items()}
    told = hs.stats(model, tokenizer=tokenizer, text=TEXT, max_length=32).manifest["signature"]
    assert told["model"]["name"] == type(model).__name__
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    with torch.no_grad():
        model.get_output_embeddings().weight[0, 0] += 1.0
    other = hs.stats(model, tokenizer=tokenizer, text=TEXT, max_length=32).manifest["signature"]
    assert other["model"]["weights"] != told["model"]["weights"]


def test_a_model_without_a_head_is_taken_as_it_is(headed):
    base = headed[0].base_model
    known = model_in_memory(base, headed[1])
    assert without_head(known) is known
