"""What a decoder behind an encoder reads: the target text as the tokenizer cuts it and the model shifts it."""

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.attention.model.examination import examine
from headscope.encoding.encoder import Encoder
from headscope.errors import ModelError
from headscope.models.forward_inputs import model_inputs
from headscope.models.load_model import LoadedModel
from headscope.views.capture import AttentionReader
from support.inputs import eager_maps
from support.translators import FAMILIES, SOURCE, TARGET, translator

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
FIRST = {
    "marian": ["<pad>", "\u2581"],
    "m2m_100": ["</s>", "__de__"],
    "nllb": ["</s>", "deu_Latn"],
    "mbart": ["de_DE", "\u2581"],
    "plbart": ["__python__", "S"],
}


def theirs(model, tokenizer, target):
    """transformers' own weights of a source with its target as labels, which the model shifts itself."""
    labels = torch.tensor([tokenizer(text_target=target)["input_ids"]])
    return labels, eager_maps(model, input_ids=torch.tensor([tokenizer(SOURCE)["input_ids"]]), labels=labels)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_target_text_is_cut_and_shifted_as_transformers_does_it(family, tmp_path):
    model, tokenizer = translator(family, tmp_path)
    labels, expected = theirs(model, tokenizer, TARGET)
    before = tokenizer(SOURCE)["input_ids"]
    for read, name in ((model, "with its head"), (model.base_model, "the base model")):
        for kind in ("encoder", "decoder", "cross"):
            found = hs.attention(SOURCE, decoder_text=TARGET, model=read, tokenizer=tokenizer, kind=kind)
            np.testing.assert_allclose(found, torch.cat(expected[kind]), atol=2e-6, err_msg=f"{name}, {kind}")
    assert found.coords["query"].values[:2].tolist() == FIRST[family]
    assert len(found.coords["query"]) == labels.shape[1]
    assert tokenizer(SOURCE)["input_ids"] == before  # the caller's tokenizer still cuts sources

    view = AttentionReader(LoadedModel(model=model, tokenizer=tokenizer, name=family)).view(SOURCE, decoder_text=TARGET)
    axis = view.kinds[1].queries
    assert view.notes == ()
    assert " ".join(axis.word_text) == TARGET.replace(".", " .")
    assert axis.special[0] == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_that_goes_on_begins_like_the_target(family, tmp_path):
    model, tokenizer = translator(family, tmp_path)
    labels = torch.tensor([tokenizer(text_target=TARGET)["input_ids"]])
    view = AttentionReader(LoadedModel(model=model, tokenizer=tokenizer, name=family)).view(
        SOURCE, decoder_text=TARGET, generate=2
    )
    axis = view.kinds[1].queries
    ends = 2 if family in ("mbart", "plbart") else 1  # </s>, and the code that comes first
    assert axis.generated == labels.shape[1] - ends + 1
    assert axis.tokens[0] == FIRST[family][0]
    assert "</s>" not in axis.tokens[1 : axis.generated]


def test_without_a_text_of_its_own_the_decoder_reads_the_source_as_the_model_shifts_it(tmp_path):
    model, tokenizer = translator("mbart", tmp_path)
    ids = torch.tensor([tokenizer(SOURCE)["input_ids"]])
    expected = eager_maps(model, input_ids=ids, labels=ids)
    found = hs.attention(SOURCE, model=model, tokenizer=tokenizer, kind="cross")
    np.testing.assert_allclose(found, torch.cat(expected["cross"]), atol=2e-6)
    assert found.coords["query"].values[0] == "en_XX"
    # Runs read it alike.
    anatomy, vocabulary = examine(model, Encoder(tokenizer).vocabulary), Encoder(tokenizer).vocabulary
    (pieces,) = Encoder(tokenizer).pieces([SOURCE])
    _, inputs, _ = model_inputs([Encoder(tokenizer).segment(pieces, document="", index=0)], anatomy, vocabulary)
    assert inputs["decoder_input_ids"].tolist() == model.prepare_decoder_input_ids_from_labels(ids).tolist()


def test_a_model_says_whether_it_wraps(tmp_path):
    for family in FAMILIES:
        model, tokenizer = translator(family, tmp_path)
        for read in (model, model.base_model):
            assert examine(read, Encoder(tokenizer).vocabulary).decoder_wraps == (family in ("mbart", "plbart")), family


def test_a_target_without_a_language_is_noted_or_refused(tmp_path):
    model, tokenizer = translator("nllb", tmp_path, target=None)
    found = hs.attention(SOURCE, decoder_text=TARGET, model=model, tokenizer=tokenizer, kind="decoder")
    assert found.coords["query"].values[1] == "eng_Latn"
    assert found.attrs["notes"] == [
        "the tokenizer names no target language, so that the decoder's text is marked as eng_Latn; set "
        "tokenizer.tgt_lang, or tgt_lang in tokenizer_config.json"
    ]
    assert "notes" not in hs.attention(SOURCE, model=model, tokenizer=tokenizer, kind="decoder").attrs
    model, tokenizer = translator("m2m_100", tmp_path, target=None)
    with pytest.raises(ModelError) as refused:
        hs.attention(SOURCE, decoder_text=TARGET, model=model, tokenizer=tokenizer)
    assert str(refused.value) == (
        "M2M100Tokenizer does not cut a target text (tgt_lang is None); set the language of the decoder's text: "
        "tokenizer.tgt_lang, or tgt_lang in tokenizer_config.json"
    )
