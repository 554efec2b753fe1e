"""A model with its trained head: which checkpoints have one, and what is said of those that do not."""

import pytest
import torch
import transformers as tf

from headscope.errors import ModelError
from headscope.models.load_model import load_model
from headscope.models.task_heads import load_task_model
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5
from support.tiny_models import CONFIGS

SENTENCES = ["The cat sat on the mat.", "A dog came by and slept.", "It left before the rain began to fall."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("task-models")


@pytest.fixture(scope="module")
def bert(folder):
    return save_tiny_bert(folder / "bare")


@pytest.fixture(scope="module")
def gpt2(folder):
    return save_tiny_gpt2(folder / "gpt2", SENTENCES)


@pytest.fixture(scope="module")
def t5(folder):
    return save_tiny_t5(folder / "t5", SENTENCES)


def test_the_embedded_model_has_a_trained_head():
    pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    loaded, bare = load_task_model(None, loss="mlm"), load_model(None)
    assert type(loaded.model).__name__ == "BertForMaskedLM"
    assert (loaded.name, loaded.origin, loaded.untrained) == (bare.name, bare.origin, frozenset())
    assert next(loaded.model.parameters()).dtype == torch.float32
    assert not loaded.model.training
    # The same body: the first weights are equal.
    assert torch.equal(
        loaded.model.bert.encoder.layer[0].output.dense.weight, bare.model.encoder.layer[0].output.dense.weight
    )


def test_a_checkpoint_without_its_head_is_refused(bert):
    assert load_model(bert).family == "bert"
    with pytest.raises(ModelError) as refused:
        load_task_model(bert, loss="mlm")
    assert str(refused.value) == (
        "bare has no trained masked-LM head: its checkpoint lacks cls.predictions.bias and 5 more weights, which would "
        "be random; loss mlm needs a checkpoint saved with its head (AutoModelForMaskedLM), or use --loss none"
    )


def test_a_single_missing_weight_is_named(folder, gpt2):
    """A head that is not tied, in a checkpoint of the bare model."""
    config = tf.GPT2Config.from_pretrained(gpt2)
    config.tie_word_embeddings = False
    other = folder / "untied"
    tf.GPT2Model(config).save_pretrained(other)
    tf.AutoTokenizer.from_pretrained(gpt2).save_pretrained(other)
    with pytest.raises(ModelError) as refused:
        load_task_model(other, loss="clm")
    assert str(refused.value) == (
        "untied has no trained next-token head: its checkpoint lacks lm_head.weight, which would be random; loss clm "
        "needs a checkpoint saved with its head (AutoModelForCausalLM), or use --loss none"
    )


def test_a_checkpoint_with_its_head_is_loaded_whole(folder, bert):
    config = tf.BertConfig.from_pretrained(bert)
    torch.manual_seed(3)
    model = tf.BertForMaskedLM(config)
    whole = folder / "whole"
    model.save_pretrained(whole)
    tf.AutoTokenizer.from_pretrained(bert).save_pretrained(whole)
    loaded = load_task_model(whole, loss="mlm", dtype="float64")
    ours = dict(loaded.model.named_parameters())
    for name, parameter in model.named_parameters():
        assert torch.equal(ours[name], parameter.double())


def test_tied_heads_are_not_missing(gpt2, t5, folder):
    """A bare GPT-2 or T5 holds all that its head is made of: the embeddings."""
    assert type(load_task_model(gpt2, loss="clm").model).__name__ == "GPT2LMHeadModel"
    loaded = load_task_model(t5, loss="denoise")
    assert loaded.model.lm_head.weight.data_ptr() == loaded.model.shared.weight.data_ptr()
    bart = folder / "bart"
    config = CONFIGS["bart"]()
    config.vocab_size = 400
    tf.BartModel(config).save_pretrained(bart)
    tf.AutoTokenizer.from_pretrained(gpt2).save_pretrained(bart)
    # A bias of zeros is not in the checkpoint of the bare model, and is no loss.
    assert type(load_task_model(bart, loss="denoise").model).__name__ == "BartForConditionalGeneration"


def test_a_family_without_such_a_head_is_refused(bert, gpt2):
    for name, loss, head in ((bert, "denoise", "sequence-to-sequence head"), (gpt2, "mlm", "masked-LM head")):
        with pytest.raises(ModelError) as refused:
            load_task_model(name, loss=loss)
        assert str(refused.value) == (
            f"{name} is of a family without a {head} in transformers; loss {loss} needs one: use --loss none, or "
            "another model"
        )


def test_other_errors_are_load_models_own(tmp_path):
    with pytest.raises(ModelError, match=r"has no config\.json; expected a model folder"):
        load_task_model(tmp_path, loss="mlm")
