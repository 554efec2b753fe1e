"""`hs.attention`: a labeled array, against transformers' own `output_attentions` with eager attention."""

import numpy as np
import pytest
import torch

import headscope as hs
from support.task_models import tiny_task_model
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_tokenizer

TEXT = "the cat played on the mat"


def own_weights(model, tokenizer, text):
    """Transformers' own weights, `[layer, head, query, key]`."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            maps = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
    finally:
        model.set_attn_implementation(before)
    return torch.stack([layer[0] for layer in maps]).numpy()


def own_ids_weights(model, ids):
    """Transformers' own weights on tokens, `[layer, head, query, key]`."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            maps = model(input_ids=ids, output_attentions=True).attentions
    finally:
        model.set_attn_implementation(before)
    return torch.stack([layer[0] for layer in maps]).numpy()


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_the_weights_are_transformers_own(family):
    model, tokenizer = shared_tiny_model(family), tiny_tokenizer(family)
    found = hs.attention(TEXT, model=model, tokenizer=tokenizer)
    expected = own_weights(model, tokenizer, TEXT)
    assert found.dims == ("layer", "head", "query", "key")
    np.testing.assert_allclose(found.values, expected, atol=1e-6, rtol=0)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(TEXT)["input_ids"])
    assert found["query"].values.tolist() == found["key"].values.tolist() == tokens
    assert found["layer"].values.tolist() == [1, 2, 3]
    one = hs.attention(TEXT, model=model, tokenizer=tokenizer, layer=2, head=[4, 1])
    np.testing.assert_array_equal(one.values, found.values[1:2][:, [3, 0]])
    assert one["layer"].values.tolist() == [2]
    assert one["head"].values.tolist() == [4, 1]
    np.testing.assert_array_equal(one.sel(layer=2, head=1), found.sel(layer=2, head=1))
    # A token that comes twice is found twice.
    assert found.sel(query="the", key="cat").shape == (3, 4, 2)
    assert found.attrs == {
        "units": "share",
        "kind": "decoder" if family == "gpt2" else "encoder",
        "level": "token",
        "model": type(model).__name__,
    }


def test_text_that_the_model_writes_has_the_weights_of_its_own_generation():
    writer, tokenizer = tiny_task_model("gpt2", dtype=torch.float32), tiny_tokenizer("gpt2")
    found = hs.attention(TEXT, model=writer, tokenizer=tokenizer, generate=3)
    given = tokenizer(TEXT, return_tensors="pt")
    ids = writer.generate(**given, max_new_tokens=3, do_sample=False, use_cache=False)
    written = ids.shape[1] - given["input_ids"].shape[1]
    assert written > 0
    assert found.sizes["query"] >= ids.shape[1] - 1
    whole = own_ids_weights(writer, ids)
    rows = found.sizes["query"]
    np.testing.assert_allclose(found.values, whole[:, :, :rows, :rows], atol=1e-6, rtol=0)
    assert found["key"].values.tolist() == tokenizer.convert_ids_to_tokens(ids[0, :rows])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"layer": 7}, "no layer 7; expected a number from 1 to 3"),
        ({"layr": 1}, "no dimension 'layr'; expected one of layer, head, query, key; did you mean layer?"),
        (
            {"query": "plaed"},
            "no query 'plaed'; expected one of [CLS], the, cat, play, ##e, ##d, on, mat and 1 more; did you mean play?",
        ),
    ],
)
def test_what_cannot_be_selected_is_said_in_words(asked, words):
    found = hs.attention(TEXT, model=shared_tiny_model("bert"), tokenizer=tiny_tokenizer("bert"))
    with pytest.raises(KeyError) as refused:
        found.sel(**asked)
    assert refused.value.args == (words,)
    with pytest.raises(KeyError):
        found.mean("head").sel(head=1)
    np.testing.assert_array_equal(found.sel({"layer": [3, 1]}, drop=True)[1], found[0])
    assert found.sel(layer=slice(2, 3)).sizes["layer"] == 2


def test_words_are_sums_over_keys_and_means_over_queries():
    model, tokenizer = shared_tiny_model("bert"), tiny_tokenizer("bert")
    tokens = own_weights(model, tokenizer, "the dogs ran")
    # [CLS] the dog ##s ran [SEP]: the pieces of "dogs" stand at 2 and 3.
    found = hs.attention("the dogs ran", model=model, tokenizer=tokenizer, level="word")
    assert found["key"].values.tolist() == ["[CLS]", "the", "dogs", "ran", "[SEP]"]
    keys = np.concatenate([tokens[..., :2], tokens[..., 2:3] + tokens[..., 3:4], tokens[..., 4:]], axis=-1)
    row = (keys[..., 2:3, :] + keys[..., 3:4, :]) / 2
    rows = np.concatenate([keys[..., :2, :], row, keys[..., 4:, :]], axis=-2)
    np.testing.assert_allclose(found.values, rows, atol=1e-6, rtol=0)
    first = hs.attention("the dogs ran", model=model, tokenizer=tokenizer, level="word", pooling="first")
    np.testing.assert_allclose(first.sel(query="dogs"), keys[..., 2, :], atol=1e-6, rtol=0)


def test_coordinates_can_be_read():
    """White space shows as a sign, and a byte names its character."""
    found = hs.attention("a\n我", model="headscope-decoder", layer=1, head=1)
    for side in ("query", "key"):
        names = found[side].values.tolist()
        assert names[-3:] == [f"byte {number} of 3 of 我" for number in (1, 2, 3)]
        assert "⏎" in names


def test_kinds_of_an_encoder_decoder():
    given = {"model": shared_tiny_model("t5"), "tokenizer": tiny_tokenizer("t5"), "decoder_text": "the dog ran"}
    across = hs.attention("the cat", **given, kind="cross")
    assert across["key"].values.tolist()[:2] == ["the", "cat"]
    assert "dog" in across["query"].values
    np.testing.assert_allclose(across.sum("key"), 1, atol=1e-5)
    assert hs.attention("the cat", **given).attrs["kind"] == "encoder"


def test_the_name_is_that_of_the_folder_too():
    import headscope.attention.scan

    assert callable(hs.attention)
    assert hs.attention.scan is headscope.attention.scan


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (["the cat"], {"heads": 1}, r"^attention has no option 'heads'; it has text, .*; did you mean head\?$"),
        (["the cat"], {"layer": 4}, r"^there is no layer 4; expected numbers from 1 to 3$"),
        (["the cat"], {"head": 0}, r"^there is no head 0; expected numbers from 1 to 4$"),
        (["the cat"], {"head": [1, 5]}, r"^there is no head 5; expected numbers from 1 to 4$"),
        (["the cat"], {"layer": "2"}, r"^layer is '2'; expected a whole number, or a list of whole"),
        (["the cat"], {"level": "words"}, r"^level 'words' is not known; .* did you mean word\?$"),
        (["the cat"], {"kind": "cross"}, r"^kind 'cross' is not known; BertModel has encoder$"),
        ([["the cat"]], {}, r"^text is a list; expected one text, as a string$"),
        ([], {}, r"^text is missing; expected one text, as a string$"),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_is_refused_in_words(given, options, words):
    with pytest.raises(hs.HeadscopeError, match=words):
        hs.attention(*given, model=shared_tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), **options)
