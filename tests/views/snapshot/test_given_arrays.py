"""Attention of any source: tensors, arrays, lists; what does not fit is refused in words."""

import numpy as np
import pytest
import torch

from headscope.errors import AttentionError, InputError, OptionError
from headscope.views.given_arrays import raw_maps, raw_view
from support.views import hand_made, rows

TOKENS = ["[CLS]", "play", "##ing"]


def said(error, **given):
    with pytest.raises(error) as refused:
        raw_view(**given)
    return str(refused.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda maps: tuple(torch.tensor(layer[None]) for layer in maps),
        lambda maps: [torch.tensor(layer[None], requires_grad=True) for layer in maps],
        lambda maps: [torch.tensor(layer) for layer in maps],
        lambda maps: torch.tensor(maps),
        lambda maps: maps[:, None],
        lambda maps: maps.astype(np.float64),
        lambda maps: maps.tolist(),
    ],
    ids=["tuple", "gradient", "no batch", "one tensor", "arrays", "double", "lists"],
)
def test_any_form_of_layers(make):
    maps = np.concatenate([hand_made(), rows(np.random.default_rng(0), 1, 2, 3, 3)])
    found = raw_maps(make(maps))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, maps, atol=1e-7)


def test_half_precision():
    maps = rows(np.random.default_rng(0), 2, 2, 40, 40)
    for dtype in (torch.float16, torch.bfloat16):
        view = raw_view(attention=[torch.tensor(layer[None], dtype=dtype) for layer in maps], tokens=["a"] * 40)
        np.testing.assert_allclose(view.kinds[0].weights, maps, atol=4e-3)


def test_one_kind_is_an_encoder_or_a_decoder_by_its_mask():
    rng = np.random.default_rng(0)
    assert raw_view(attention=rows(rng, 1, 1, 3, 3), tokens=TOKENS).kinds[0].kind == "encoder"
    assert raw_view(attention=rows(rng, 1, 1, 3, 3, causal=True), tokens=TOKENS).kinds[0].kind == "decoder"


def test_three_kinds_look_the_right_way():
    rng = np.random.default_rng(0)
    cross = rows(rng, 2, 2, 2, 3)
    view = raw_view(
        encoder_attention=rows(rng, 2, 2, 3, 3),
        decoder_attention=rows(rng, 2, 2, 2, 2, causal=True),
        cross_attention=cross,
        encoder_tokens=["x", "y", "z"],
        decoder_tokens=["a", "b"],
    )
    assert [kind.kind for kind in view.kinds] == ["encoder", "decoder", "cross"]
    last = view.kinds[2]
    assert (last.queries.tokens, last.key_axis.tokens) == (("a", "b"), ("x", "y", "z"))
    np.testing.assert_array_equal(last.weights, cross)


@pytest.mark.parametrize("count_from", [0, 1])
def test_chosen_layers_and_heads_keep_their_labels(count_from):
    maps = rows(np.random.default_rng(0), 4, 3, 3, 3)
    kind = raw_view(
        attention=maps,
        tokens=TOKENS,
        include_layers=[3 + count_from, 1 + count_from],
        include_heads=[2 + count_from],
        count_from=count_from,
    ).kinds[0]
    assert (kind.layers, kind.heads) == ((2, 4), (3,))
    np.testing.assert_array_equal(kind.weights, maps[[1, 3]][:, [2]])


def test_layers_that_are_not_there():
    given = {"attention": hand_made(), "tokens": TOKENS}
    assert said(OptionError, **given, include_layers=[2]) == ("include_layers names 2; expected layers from 1 to 1")
    assert said(OptionError, **given, include_heads=[-1, 0], count_from=0) == (
        "include_heads names -1; expected heads from 0 to 1"
    )
    assert said(OptionError, **given, include_layers=[]) == ("include_layers names none; expected layers from 1 to 1")


NOT_KEPT = (
    "give `outputs.attentions` of a model that was loaded with attn_implementation='eager' and called with "
    "output_attentions=True (other implementations keep no weights)"
)


@pytest.mark.parametrize("attention", [(), (None, None), [torch.tensor(hand_made()), None]])
def test_weights_that_a_model_did_not_keep(attention):
    assert said(AttentionError, attention=attention, tokens=TOKENS) == (
        f"there are no weights in encoder attention; {NOT_KEPT}"
    )


def test_shapes_that_are_no_maps():
    assert said(AttentionError, attention=[np.zeros((2, 2, 3, 3))], tokens=TOKENS) == (
        "layer 1 of encoder attention has the shape (2, 2, 3, 3); expected [1, head, query, key] or [head, query, "
        "key]: the attention of one input, a tensor for each layer"
    )
    assert said(AttentionError, attention=hand_made()[0, 0], tokens=TOKENS).startswith(
        "layer 1 of encoder attention has the shape (3,); expected"
    )
    uneven = [np.zeros((1, 2, 3, 3)), np.zeros((1, 3, 3, 3))]
    assert said(AttentionError, attention=uneven, tokens=TOKENS) == (
        "layers of encoder attention differ in shape ((2, 3, 3), (3, 3, 3)); expected the same heads, queries and keys "
        "in every layer"
    )
    assert said(AttentionError, attention=hand_made(), tokens=["a", "b"]) == (
        "encoder attention is 3 queries by 3 keys, and there are 2 and 2 tokens; give the tokens that the model read, "
        "special tokens included"
    )


def test_tokens_that_are_missing_or_no_text():
    assert said(InputError, attention=hand_made()) == (
        "attention needs tokens: expected one token for each row and column of the maps"
    )
    assert said(InputError, cross_attention=hand_made(), encoder_tokens=TOKENS) == (
        "cross_attention needs decoder_tokens: expected one token for each row and column of the maps"
    )
    assert said(InputError, attention=hand_made(), tokens=[101, 7, 102]) == (
        "expected tokens as a list of strings, got a int among them; tokenizer.convert_ids_to_tokens(ids) gives them"
    )
    assert said(InputError, attention=hand_made(), tokens="abc") == (
        "expected tokens as a list of strings, got a string; tokenizer.convert_ids_to_tokens(ids) gives them"
    )
    assert said(InputError, attention=hand_made(), tokens=TOKENS, sentence_b_start=3) == (
        "the second text cannot begin at position 3; expected 1 to 2, the first token being position 0"
    )


def test_nothing_and_too_much():
    assert said(OptionError) == (
        "there is no attention to draw; give attention with tokens, or encoder_attention, decoder_attention or "
        "cross_attention with encoder_tokens and decoder_tokens"
    )
    assert said(OptionError, attention=hand_made(), tokens=TOKENS, encoder_tokens=TOKENS) == (
        "attention goes with tokens alone; give encoder_attention, decoder_attention and cross_attention with "
        "encoder_tokens and decoder_tokens instead, or leave them out"
    )


def test_marks_can_stay():
    view = raw_view(attention=rows(np.random.default_rng(0), 1, 1, 2, 2), tokens=["The", "Ġcat"], readable=False)
    assert view.kinds[0].queries.tokens == ("The", "Ġcat")
    assert view.kinds[0].queries.word_text == ("The", "cat")
