"""A model's attention on one text: transformers' own eager weights, and parts of the scores that add up to them."""

import numpy as np
import pytest
import torch

from headscope.errors import InputError, ModelError, OptionError
from headscope.models.load_model import LoadedModel
from headscope.views.capture import AttentionReader, heading
from support.inputs import eager_maps
from support.task_models import tiny_task_model
from support.tiny_models import CONFIGS, PATHS, shared_tiny_model
from support.tiny_tokenizers import DECODERS, SEQ2SEQ, tiny_loaded, tiny_tokenizer

TEXT, OTHER = "The cat sat on the mat, playing.", "Dogs ran."
ENCODERS = sorted(set(CONFIGS) - set(DECODERS) - set(SEQ2SEQ))
TAPPED = sorted(family for family, path in PATHS.items() if path != "fallback")


def arrays(layers):
    return torch.stack([layer[0] for layer in layers]).numpy()


@pytest.mark.parametrize("family", sorted(CONFIGS))
def test_weights_are_transformers_own(family):
    loaded = tiny_loaded(family)
    view = AttentionReader(loaded).view(TEXT, decoder_text=OTHER if family in SEQ2SEQ else None)
    inputs = {"input_ids": torch.tensor([loaded.tokenizer(TEXT)["input_ids"]])}
    if family in SEQ2SEQ:
        start = loaded.model.config.decoder_start_token_id
        own = loaded.tokenizer(OTHER)["input_ids"]
        inputs["decoder_input_ids"] = torch.tensor([[start, *own[:-1]]])
    expected = eager_maps(loaded.model, **inputs)
    kinds = ("encoder", "decoder", "cross") if family in SEQ2SEQ else (
        "decoder" if family in DECODERS else "encoder",
    )  # fmt: skip
    assert tuple(kind.kind for kind in view.kinds) == kinds
    for kind in view.kinds:
        theirs = arrays(expected.get(kind.kind, expected.get("self")))
        assert kind.weights.dtype == np.float32
        np.testing.assert_allclose(kind.weights, theirs, atol=2e-6)
        assert kind.causal == (kind.kind == "decoder")
    assert view.model == f"tiny-{family}"


@pytest.mark.parametrize("family", ENCODERS)
def test_a_pair_is_read_as_transformers_reads_it(family):
    loaded = tiny_loaded(family)
    (kind,) = AttentionReader(loaded).view(TEXT, OTHER).kinds
    given = loaded.tokenizer(TEXT, OTHER, return_tensors="pt", return_token_type_ids=True)
    inputs = {"input_ids": given["input_ids"]}
    if (getattr(loaded.model.config, "type_vocab_size", None) or 0) > 1:
        inputs["token_type_ids"] = given["token_type_ids"]
    np.testing.assert_allclose(kind.weights, arrays(eager_maps(loaded.model, **inputs)["self"]), atol=2e-6)
    assert kind.queries.segment_b == given["token_type_ids"][0].tolist().index(1)
    assert kind.queries.tokens[kind.queries.segment_b] == "dog"


@pytest.mark.parametrize("family", TAPPED)
def test_softmax_of_the_scores_is_the_weight(family):
    view = AttentionReader(tiny_loaded(family)).view(TEXT, neuron=True)
    for kind in view.kinds:
        assert kind.no_neuron is None
        assert len(kind.neuron) == len(kind.weights)
        for layer, weights in zip(kind.neuron, kind.weights):
            np.testing.assert_allclose(layer.weights, weights, atol=1e-5)
            # Row by row as the view does it, in double precision.
            head, row = len(layer.groups) - 1, len(kind.queries) - 2
            q, k = layer.queries[head, row].astype(float), layer.keys[layer.groups[head]].astype(float)
            scores = layer.scaling * (q * k).sum(-1)
            if layer.bias is not None:
                scores = scores + layer.bias[head if len(layer.bias) > 1 else 0, row]
            if layer.softcap is not None:
                scores = layer.softcap * np.tanh(scores / layer.softcap)
            seen = np.ones(len(scores), dtype=bool) if layer.visible is None else layer.visible[row]
            weight = np.where(seen, np.exp(scores), 0)
            np.testing.assert_allclose(weight / weight.sum(), weights[head, row], atol=1e-5)


def test_which_family_has_which_parts():
    def parts(family):
        view = AttentionReader(tiny_loaded(family)).view(TEXT, neuron=True)
        return {kind.kind: kind.neuron for kind in view.kinds}

    (bert,) = parts("bert").values()
    assert all(layer.visible is None and layer.bias is None and layer.softcap is None for layer in bert)
    assert bert[0].scaling == pytest.approx(8**-0.5)
    (llama,) = parts("llama").values()
    assert llama[0].groups == (0, 0, 1, 1)
    assert llama[0].keys.shape[0] == 2
    t5 = parts("t5")
    for kind, biased in (("encoder", True), ("decoder", True), ("cross", False)):
        assert all((layer.bias is not None) == biased for layer in t5[kind])
        assert all(layer.scaling == 1 for layer in t5[kind])
    assert all(layer.bias.shape[0] == 4 for layer in t5["encoder"])
    (gemma,) = parts("gemma2").values()
    assert [layer.softcap for layer in gemma] == [50.0] * 3
    n = len(gemma[0].visible)
    later = np.triu(np.ones((n, n), dtype=bool), 1)
    assert not any(layer.visible[later].any() for layer in gemma)
    # Layers 1 and 3 see six tokens back, layer 2 all; ModernBERT sees three to either side in some layers.
    assert [bool(layer.visible[n - 1, 0]) for layer in gemma] == [False, True, False]
    (modern,) = parts("modernbert").values()
    assert [layer.visible is None or bool(layer.visible.all()) for layer in modern] == [True, False, True]


@pytest.mark.parametrize("family", sorted(f for f, path in PATHS.items() if path == "fallback"))
def test_families_outside_the_interface_have_no_neuron_parts(family):
    (kind,) = AttentionReader(tiny_loaded(family)).view(TEXT, neuron=True).kinds
    name = type(shared_tiny_model(family)).__name__
    assert kind.neuron == ()
    assert kind.no_neuron == (
        f"{name} does not hand over its queries and keys (it does not use transformers' attention interface): the "
        "neuron view needs a family that does, as BERT, GPT-2, Llama, T5 or Gemma."
    )


def test_scores_that_do_not_give_the_weights_are_not_shown(monkeypatch):
    from headscope.views import kept_layers

    monkeypatch.setattr(kept_layers, "scaling_of", lambda call: 1.0)
    (kind,) = AttentionReader(tiny_loaded("bert")).view(TEXT, neuron=True).kinds
    assert kind.neuron == ()
    assert kind.no_neuron.startswith("The queries and keys of this model do not give its weights by scaling,")


def test_words_and_special_tokens():
    (kind,) = AttentionReader(tiny_loaded("bert")).view("The cat, playing.").kinds
    axis = kind.queries
    assert axis.tokens == ("[CLS]", "the", "cat", ",", "play", "##ing", ".", "[SEP]")
    assert axis.words == (None, 0, 1, 2, 3, 3, 4, None)
    assert axis.word_text == ("The", "cat", ",", "playing", ".")
    assert axis.special == (0, 7)
    assert axis.generated is None


def test_text_that_the_model_does_not_know_is_shown_as_typed():
    (kind,) = AttentionReader(tiny_loaded("bert")).view("The Żółw ran, dogs9.", "Zürich").kinds
    axis = kind.queries
    assert axis.tokens == ("[CLS]", "the", "Żółw", "ran", ",", "dogs9", ".", "[SEP]", "Zürich", "[SEP]")
    assert axis.unknown == (2, 5, 8)
    assert axis.word_text == ("The", "Żółw", "ran", ",", "dogs9", ".", "Zürich")


def test_what_a_decoder_does_not_know_is_shown_as_typed():
    encoder, decoder, cross = AttentionReader(tiny_loaded("t5")).view("the Żółw ran").kinds
    assert encoder.queries.unknown == (1,)
    assert decoder.queries.tokens == ("[CLS]", "the", "Żółw", "ran")
    assert decoder.queries.unknown == (2,)
    assert cross.keys.tokens == ("the", "Żółw", "ran", "[SEP]")
    writer = tiny_task_model("gpt2", dtype=torch.float32)
    (written,) = AttentionReader(tiny_loaded("gpt2", writer)).view("the Żółw ran", generate=2).kinds
    assert written.queries.tokens[:3] == ("the", "Żółw", "ran")
    assert written.queries.unknown == (1,)
    given = AttentionReader(tiny_loaded("t5")).view("the cat", decoder_text="cat Żółw").kinds[1]
    assert given.queries.tokens == ("[CLS]", "cat", "Żółw")


def test_words_count_on_through_a_pair():
    (kind,) = AttentionReader(tiny_loaded("bert")).view("playing", "Dogs ran").kinds
    axis = kind.queries
    assert axis.tokens == ("[CLS]", "play", "##ing", "[SEP]", "dog", "##s", "ran", "[SEP]")
    assert axis.words == (None, 0, 0, None, 1, 1, 2, None)
    assert axis.word_text == ("playing", "Dogs", "ran")
    assert axis.segment_b == 4


def test_special_tokens_written_in_the_text_are_words_of_their_own():
    (kind,) = AttentionReader(tiny_loaded("bert")).view("the [SEP] cat").kinds
    assert kind.queries.tokens == ("[CLS]", "the", "[SEP]", "cat", "[SEP]")
    assert kind.queries.words == (None, 0, None, 1, None)
    assert kind.queries.special == (0, 2, 4)


def test_chosen_layers_keep_their_labels():
    reader = AttentionReader(tiny_loaded("bert"))
    (whole,), (some,) = reader.view(TEXT).kinds, reader.view(TEXT, layers=(3, 1), neuron=True).kinds
    assert some.layers == (1, 3)
    assert len(some.neuron) == 2
    np.testing.assert_array_equal(some.weights, whole.weights[[0, 2]])


def test_layers_are_chosen_within_each_kind():
    view = AttentionReader(tiny_loaded("t5")).view(TEXT, layers=(3,))
    assert [(kind.kind, kind.layers) for kind in view.kinds] == [("decoder", (3,)), ("cross", (3,))]


def test_the_decoder_reads_the_text_again_when_nothing_is_said():
    view = AttentionReader(tiny_loaded("t5")).view("the cat")
    encoder, decoder, cross = view.kinds
    assert encoder.queries.tokens == ("the", "cat", "[SEP]")
    assert decoder.queries.tokens == ("[CLS]", "the", "cat")  # id 0 starts the decoder
    assert cross.keys is encoder.queries
    assert cross.weights.shape[2:] == (3, 3)


def said(error, call):
    with pytest.raises(error) as refused:
        call()
    return str(refused.value)


def test_text_that_is_too_long():
    reader = AttentionReader(tiny_loaded("bert"))
    assert said(InputError, lambda: reader.view("cat " * 100)) == (
        "the text is 102 tokens long, and at most 80 can be read; shorten it, or cut it with --too-long truncate "
        "(too_long='truncate' in Python)"
    )
    (kind,) = reader.view("cat " * 100, too_long="truncate").kinds
    assert len(kind.queries) == 80
    assert kind.queries.tokens[-1] == "[SEP]"
    (kind,) = reader.view("cat " * 50, "dog " * 9, too_long="truncate", max_length=20).kinds
    assert len(kind.queries) == 20
    assert kind.queries.tokens.count("dog") == 8  # 17 places: the shorter text gets half of them at most
    assert kind.queries.tokens.count("cat") == 9
    assert said(OptionError, lambda: reader.view("cat", max_length=81)) == (
        "--max-length 81 is more than tiny-bert can read; expected at most 80 tokens"
    )
    assert said(InputError, lambda: reader.view("cat", max_length=2)) == (
        "the text is 3 tokens long, and at most 2 can be read; shorten it, or cut it with --too-long truncate "
        "(too_long='truncate' in Python)"
    )


def test_wrong_options_are_named():
    reader = AttentionReader(tiny_loaded("bert"))
    assert said(InputError, lambda: reader.view("  ")) == ("the text '  ' has no tokens; expected at least one word")
    assert said(OptionError, lambda: reader.view("cat", layers=(4,))) == (
        "there is no layer 4; expected labels from 1 to 3"
    )
    assert said(OptionError, lambda: reader.view("cat", too_long="skip")) == (
        "--too-long 'skip' is not known; choose one of error, truncate"
    )
    assert said(OptionError, lambda: reader.view("cat", decoder_text="dog")) == (
        "tiny-bert has no decoder behind an encoder; leave --decoder-text out, or choose a model such as T5 or BART"
    )
    assert said(ModelError, lambda: reader.view("cat", generate=3)) == (
        "tiny-bert reads a text in both directions and cannot write one; choose a decoder such as GPT-2, or an "
        "encoder-decoder such as T5, or leave out --generate"
    )
    gpt2 = AttentionReader(tiny_loaded("gpt2"))
    assert said(ModelError, lambda: gpt2.view("cat", generate=3)) == (
        "GPT2Model has no head to write text with; load the model with AutoModelForCausalLM or AutoModelForSeq2SeqLM"
    )


def test_more_weights_than_a_page_can_hold(monkeypatch):
    from headscope.views import capture

    monkeypatch.setattr(capture, "MOST_WEIGHTS", 100)
    reader = AttentionReader(tiny_loaded("bert"))
    assert said(InputError, lambda: reader.view("the cat")) == (
        "the attention of this text is 192 weights, and a page can hold 100; shorten the text, or choose fewer layers "
        "(--include-layers)"
    )
    assert len(reader.view("the cat", layers=(2,)).kinds[0].weights) == 1


def test_a_users_model_is_left_as_it_was():
    model = shared_tiny_model("bert")
    model.train()
    before = model.config._attn_implementation
    try:
        AttentionReader(LoadedModel(model=model, tokenizer=tiny_tokenizer(), name="mine")).view("the cat")
        assert model.training
        assert model.config._attn_implementation == before
    finally:
        model.eval()


@pytest.mark.parametrize(
    ("text", "generated", "title"),
    [
        ("The cat", "", "The cat"),
        ("The cat", "sat\non it.", "The cat → sat on it."),
        ("a" * 90, "", "a" * 79 + "…"),
        ("a" * 90, "b" * 90, f"{'a' * 39}… → {'b' * 39}…"),
        ("a" * 90, "and so on", f"{'a' * 39}… → and so on"),
    ],
)
def test_a_long_title_has_the_beginnings_of_what_was_read_and_of_what_was_written(text, generated, title):
    assert heading(text, generated) == title
