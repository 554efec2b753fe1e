"""Checkpoints without the tables of positions that a model computes: they are whole."""

import numpy as np
import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

import headscope as hs
from headscope.errors import ModelError
from headscope.models.identity import weights_hash
from headscope.models.load_model import load_model
from headscope.models.task_heads import load_writer
from support.inputs import eager_maps
from support.tiny_models import BART_SIZES, TEXT_SIZES, VOCABULARY
from support.tiny_tokenizers import tiny_tokenizer

_BART = {
    **BART_SIZES,
    "decoder_layers": 2,
    "max_position_embeddings": 80,
    "pad_token_id": 1,
    "decoder_start_token_id": 1,
    "eos_token_id": 2,
}
_BERT = {**TEXT_SIZES, "num_hidden_layers": 2, "vocab_size": VOCABULARY, "max_position_embeddings": 80}
FAMILIES = {
    "marian": lambda: tf.MarianMTModel(tf.MarianConfig(vocab_size=VOCABULARY, **_BART)),
    "pegasus": lambda: tf.PegasusForConditionalGeneration(tf.PegasusConfig(vocab_size=VOCABULARY, **_BART)),
    "fsmt": lambda: tf.FSMTForConditionalGeneration(
        tf.FSMTConfig(langs=["en", "de"], src_vocab_size=VOCABULARY, tgt_vocab_size=VOCABULARY, **_BART)
    ),
    "roformer": lambda: tf.RoFormerForMaskedLM(tf.RoFormerConfig(**_BERT)),
}
TEXT = "the cat sat on the mat"


def save(folder, model, family, *, without=()):
    """Write a checkpoint without the weights whose names contain one of some words; return what it lacks."""
    model.eval().save_pretrained(folder)
    file = folder / "model.safetensors"
    weights = load_file(file)
    lacking = [name for name in weights if any(word in name for word in without)]
    save_file({name: weights[name] for name in weights if name not in lacking}, file, metadata={"format": "pt"})
    tiny_tokenizer("bert" if family in ("roformer", "bert") else "bart").save_pretrained(folder)
    return lacking


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_without_them_is_read_as_transformers_reads_it(family, tmp_path):
    torch.manual_seed(0)
    model = FAMILIES[family]()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed_positions" not in name:
                parameter.mul_(10)
    lacking = save(tmp_path, model, family, without=["embed_positions"])
    assert bool(lacking) == (family != "marian")  # which transformers itself leaves out

    loaded = load_model(tmp_path)
    assert not [name for name in loaded.untrained if "embed_positions" in name]
    kind = "encoder"
    found = hs.attention(TEXT, model=loaded, kind=kind)
    whole = tf.AutoModel.from_pretrained(tmp_path, attn_implementation="eager")
    ids = torch.tensor([loaded.tokenizer(TEXT)["input_ids"]])
    inputs = {"input_ids": ids} | ({} if family == "roformer" else {"decoder_input_ids": ids})
    theirs = eager_maps(whole, **inputs)
    theirs = theirs.get(kind, theirs.get("self"))
    np.testing.assert_allclose(found, torch.cat(theirs).numpy(), atol=2e-6)
    # The model that was saved, with all its tables, gives the same.
    saved = eager_maps(model.base_model, **inputs)
    np.testing.assert_allclose(found, torch.cat(saved.get(kind, saved.get("self"))).numpy(), atol=2e-6)
    if family != "roformer":
        assert load_writer(tmp_path).untrained == set()


def test_the_hash_does_not_depend_on_whether_they_were_saved(tmp_path):
    torch.manual_seed(0)
    model = FAMILIES["pegasus"]()
    hashes = set()
    for number, without in enumerate(((), ("embed_positions",))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert bool(save(folder, model, "pegasus", without=without)) == bool(without)
        hashes.add(weights_hash(load_model(folder)))
    assert len(hashes) == 1


LACKING = {
    "a learned table of positions": (lambda: tf.BertModel(tf.BertConfig(**_BERT)), "bert", "position_embeddings", 1),
    "token embeddings": (FAMILIES["fsmt"], "fsmt", "encoder.embed_tokens", 1),
    "a norm, which begins with ones": (FAMILIES["roformer"], "roformer", "layer.1.attention.output.LayerNorm", 2),
    "a layer beside tables": (FAMILIES["pegasus"], "pegasus", "decoder.layers.1.encoder_attn.q_proj", 2),
}


@pytest.mark.parametrize("case", LACKING)
def test_what_is_learned_is_still_missed(case, tmp_path):
    make, family, word, number = LACKING[case]
    save(tmp_path, make(), family, without=[word, "embed_positions"])
    with pytest.raises(ModelError, match=f"the checkpoint lacks {number} of the model's weights \\(.*{word}"):
        load_model(tmp_path)
