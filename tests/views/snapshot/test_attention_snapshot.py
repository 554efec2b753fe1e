"""What is no view is refused, in words."""

import re

import numpy as np
import pytest

from headscope.errors import AttentionError, InputError
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.kept_layers import NeuronLayer
from support.views import hand_made, hand_made_view, neuron_layer, rows

THREE = Axis(tokens=("a", "b", "c"))


def said(error, call):
    with pytest.raises(error) as refused:
        call()
    return str(refused.value)


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        ((0, 1, 2, 0), -0.5, "head 1-2, row 3 holds -0.5; expected weights between 0 and 1"),
        ((0, 0, 1, 1), 1.5, "head 1-1, row 2 holds 1.5; expected weights between 0 and 1"),
        ((0, 0, 0, 2), np.nan, "head 1-1, row 1 holds nan; expected weights between 0 and 1"),
        ((0, 0, 0, 2), np.inf, "head 1-1, row 1 holds inf; expected weights between 0 and 1"),
        ((0, 1, 1, 1), 0.9, "head 1-2, row 2 sums to 1.9; expected 1 at most"),
    ],
)
def test_rows_that_are_not_weights(place, value, text):
    maps = hand_made()
    maps[place] = value
    assert said(AttentionError, lambda: KindMaps(kind="encoder", weights=maps, queries=THREE)) == (
        f"encoder attention of {text}: give attention after the softmax"
    )


def test_labels_name_the_head_that_is_wrong():
    maps = hand_made()
    maps[0, 1, 0, 0] = np.nan
    text = said(
        AttentionError, lambda: KindMaps(kind="encoder", weights=maps, queries=THREE, layers=(7,), heads=(3, 9))
    )
    assert text.startswith("encoder attention of head 7-9, row 1 holds nan;")


def test_rows_of_half_precision_and_rows_that_leave_weight_out_are_fine():
    weights = rows(np.random.default_rng(0), 1, 1, 3, 3).astype(np.float16).astype(np.float32)
    KindMaps(kind="encoder", weights=weights * np.float32(1.001), queries=THREE)
    KindMaps(kind="encoder", weights=weights * np.float32(0.2), queries=THREE)


def test_sizes_that_do_not_fit():
    four = Axis(tokens=("a", "b", "c", "d"))
    assert said(AttentionError, lambda: KindMaps(kind="encoder", weights=hand_made(), queries=four)) == (
        "encoder attention is 3 queries by 3 keys, and there are 4 and 4 tokens; give the tokens that the model read, "
        "special tokens included"
    )
    assert said(
        AttentionError, lambda: KindMaps(kind="cross", weights=hand_made(), queries=THREE, keys=four)
    ).startswith("cross attention is 3 queries by 3 keys, and there are 3 and 4 tokens;")
    assert said(AttentionError, lambda: KindMaps(kind="encoder", weights=hand_made()[0], queries=THREE)) == (
        "expected encoder attention as layer, head, query, key (four axes), got 3 axes"
    )
    nothing = np.zeros((0, 2, 3, 3), dtype=np.float32)
    assert said(AttentionError, lambda: KindMaps(kind="encoder", weights=nothing, queries=THREE)) == (
        "encoder attention has 0 layers of 2 heads; expected one at least"
    )


def test_labels_and_roles_must_fit():
    assert (
        said(InputError, lambda: KindMaps(kind="encoder", weights=hand_made(), queries=THREE, layers=(1, 2)))
        == "2 layer and 2 head labels were given for 1 layers of 2 heads of encoder attention"
    )
    assert (
        said(InputError, lambda: KindMaps(kind="encoder", weights=hand_made(), queries=THREE, roles=(("sep",),)))
        == "expected a role (or None) for each of 1 x 2 encoder heads"
    )
    layer = neuron_layer(np.random.default_rng(0), heads=2, queries=3, keys=3)
    assert (
        said(InputError, lambda: KindMaps(kind="encoder", weights=hand_made(), queries=THREE, neuron=(layer, layer)))
        == "expected queries and keys of 1 layers, got those of 2"
    )


def test_kinds():
    assert said(InputError, lambda: KindMaps(kind="self", weights=hand_made(), queries=THREE)) == (
        "kind 'self' is not known; choose one of encoder, decoder, cross"
    )
    assert said(InputError, lambda: KindMaps(kind="cross", weights=hand_made(), queries=THREE)) == (
        "cross attention looks from one text at another; expected the tokens of both"
    )
    one = hand_made_view().kinds[0]
    assert said(InputError, lambda: AttentionSnapshot(title="", model="", kinds=(one, one))) == (
        "expected each kind of attention once, got encoder, encoder"
    )
    assert said(InputError, lambda: AttentionSnapshot(title="", model="", kinds=())) == (
        "expected each kind of attention once, got none"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tokens": ()}, "there are no tokens to draw; expected at least one"),
        ({"words": (0,)}, "expected a word id (or None) for each of 3 tokens, got 1"),
        ({"words": (0, 1, None), "word_text": ("a",)}, "word id 1 has no text; expected ids below 1"),
        (
            {"segment_b": 3},
            "the second text cannot begin at position 3; expected 1 to 2, the first token being position 0",
        ),
        (
            {"segment_b": 0},
            "the second text cannot begin at position 0; expected 1 to 2, the first token being position 0",
        ),
        ({"generated": 4}, "generated text cannot begin at position 4 of 3 tokens"),
        ({"special": (0, 3)}, "special tokens are at [0, 3]; expected positions below 3"),
    ],
)
def test_axes(given, text):
    assert said(InputError, lambda: Axis(**{"tokens": ("a", "b", "c"), **given})) == text


def test_causal_is_read_off_the_maps():
    rng = np.random.default_rng(0)
    for causal in (True, False):
        maps = rows(rng, 2, 2, 3, 3, causal=causal)
        assert KindMaps(kind="encoder", weights=maps, queries=THREE).causal is causal
    crossed = KindMaps(kind="cross", weights=rows(rng, 2, 2, 3, 3, causal=True), queries=THREE, keys=THREE)
    assert not crossed.causal


def test_parts_of_scores_that_do_not_fit():
    zeros = np.zeros((2, 3, 4), dtype=np.float32)
    with pytest.raises(AttentionError, match=re.escape("queries (2, 3, 4), keys (2, 3, 4), bias (1, 3, 3), mask None")):
        NeuronLayer(queries=zeros, keys=zeros, groups=(0,), scaling=1.0)
    with pytest.raises(AttentionError, match="do not fit; expected"):
        NeuronLayer(queries=zeros, keys=zeros, groups=(0, 2), scaling=1.0)
    with pytest.raises(AttentionError, match="do not fit; expected"):
        NeuronLayer(queries=zeros, keys=zeros, groups=(0, 1), scaling=1.0, visible=np.ones((3, 4), dtype=bool))


def test_scores_by_hand():
    layer = NeuronLayer(
        queries=np.array([[[1, 2]], [[0, 1]]], dtype=np.float32),
        keys=np.array([[[3, 1], [1, 1]]], dtype=np.float32),
        groups=(0, 0),
        scaling=0.5,
        bias=np.array([[[1, -1]]], dtype=np.float32),
        softcap=2.0,
    )
    assert layer.products.tolist() == [[[5, 3]], [[1, 1]]]
    raw = np.array([[[3.5, 0.5]], [[1.5, -0.5]]])
    np.testing.assert_allclose(layer.scores, 2 * np.tanh(raw / 2), rtol=1e-6)
    exponentials = np.exp(2 * np.tanh(raw / 2))
    np.testing.assert_allclose(layer.weights, exponentials / exponentials.sum(-1, keepdims=True), rtol=1e-6)
