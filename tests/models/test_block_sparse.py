"""BigBird's block-sparse attention, which gives no weights over all keys: refused before the model reads a text."""

import numpy as np
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.errors import ModelError
from headscope.models.load_model import load_model
from support.inputs import eager_maps
from support.tiny_models import BART_SIZES, TEXT_SIZES, VOCABULARY
from support.tiny_tokenizers import tiny_tokenizer

_BERT = {**TEXT_SIZES, "num_hidden_layers": 2}
_BART = {**BART_SIZES, "decoder_layers": 2}
FAMILIES = {
    "bert": lambda **more: tf.BigBirdModel(tf.BigBirdConfig(vocab_size=VOCABULARY, **_BERT, **more)),
    "bart": lambda **more: tf.BigBirdPegasusModel(
        tf.BigBirdPegasusConfig(vocab_size=VOCABULARY, pad_token_id=1, decoder_start_token_id=2, **_BART, **more)
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_block_sparse_attention_is_refused_with_the_cure(family, tmp_path):
    torch.manual_seed(0)
    model, tokenizer = FAMILIES[family]().eval(), tiny_tokenizer(family)
    assert model.config.attention_type == "block_sparse"
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for call in (
        lambda: hs.attention("the cat", model=model, tokenizer=tokenizer),
        lambda: hs.stats(model=model, tokenizer=tokenizer, text=["the cat"]),
        lambda: load_model(tmp_path),
    ):
        with pytest.raises(ModelError) as refused:
            call()
        assert str(refused.value) == (
            f"{type(model).__name__} computes block-sparse attention, which gives no weights of each query over all "
            'keys; load it with attention_type="original_full" (from_pretrained takes it, and config.json holds it)'
        )
    assert (model if family == "bert" else model.encoder).attention_type == "block_sparse"  # as the caller has it

    cured = tf.AutoModel.from_pretrained(tmp_path, attention_type="original_full").eval()
    found = hs.attention("the cat sat", model=cured, tokenizer=tokenizer, kind="encoder")
    ids = torch.tensor([tokenizer("the cat sat")["input_ids"]])
    theirs = eager_maps(cured, input_ids=ids, **({} if family == "bert" else {"decoder_input_ids": ids}))
    np.testing.assert_allclose(found, torch.cat(theirs.get("encoder", theirs.get("self"))).numpy(), atol=2e-6)
    cured.save_pretrained(tmp_path)
    assert load_model(tmp_path).model.config.attention_type == "original_full"
