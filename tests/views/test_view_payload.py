"""The payload's contract: what a page reads is what was measured, to the error that it states."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.errors import AttentionError
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.markup import json_text
from headscope.views.view_payload import neuron_bytes, payload
from support.views import (
    hand_made,
    hand_made_view,
    neuron_layer,
    pair_view,
    read_maps,
    read_neuron,
    rows,
    three_kinds_view,
)


def test_every_field_by_hand():
    told = payload(hand_made_view(), compress=False)
    maps = told["kinds"][0].pop("maps")
    assert told == {
        "schema": "headscope.attention",
        "version": 1,
        "title": "By hand",
        "model": "hand-made",
        "largest_error": told["largest_error"],
        "kinds": [
            {
                "kind": "encoder",
                "layers": [1],
                "heads": 2,
                "head_labels": None,
                "queries": {
                    "tokens": ["[CLS]", "play", "##ing"],
                    "words": [None, 0, 0],
                    "word_text": ["playing"],
                    "segment_b": None,
                    "generated": None,
                    "special": [0],
                    "unknown": [],
                },
                "keys": None,
                "causal": False,
                "roles": [["previous", None]],
                "neuron": None,
                "no_neuron": None,
            }
        ],
    }
    assert maps[0]["encoding"] == "base64"


@settings(max_examples=30)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    seed=st.integers(0, 99),
    compress=st.booleans(),
)
def test_a_page_reads_the_weights_within_the_error_it_states(shape, seed, compress):
    weights = rows(np.random.default_rng(seed), *shape)
    keys = Axis(tokens=tuple("k" * shape[3]))
    kind = KindMaps(kind="cross", weights=weights, queries=Axis(tokens=tuple("q" * shape[2])), keys=keys)
    told = json.loads(json_text(payload(AttentionSnapshot(title="t", model="", kinds=(kind,)), compress=compress)))
    back = read_maps(told["kinds"][0])
    assert back.shape == shape
    off = np.abs(back - weights)
    assert (off <= weights.max(-1, keepdims=True) / 255).all()
    # Stated in three digits, rounded up; float32 on the way.
    assert off.max() <= told["largest_error"] + 1e-7
    assert told["largest_error"] <= 1.01 * off.max() + 1e-7


def test_transposed_maps_are_not_the_same():
    """Queries are rows: the middle token of head 1 looks at the first, and nobody at it but the last."""
    back = read_maps(payload(hand_made_view())["kinds"][0])
    assert back[0, 0, 1].tolist() == [1, 0, 0]
    assert back[0, 0, :, 1].tolist() == [0, 0, 1]


def test_labels_words_and_pairs_reach_the_page():
    told = payload(pair_view())["kinds"][0]
    assert told["layers"] == [2, 4]
    assert told["queries"]["segment_b"] == 5
    assert told["queries"]["words"] == [None, 0, 1, 2, None, 3, 4, 4, None]
    assert told["queries"]["tokens"][3] == "</script><script>alert(1)"
    assert told["queries"]["tokens"][5] == "a⟨U+202E⟩b"
    assert told["queries"]["word_text"][3:] == ["a⟨U+202E⟩b", "playing"]
    np.testing.assert_allclose(read_maps(told), pair_view().kinds[0].weights, atol=1 / 255)


def test_endless_tokens_are_cut():
    axis = Axis(tokens=("x" * 5000,))
    kind = KindMaps(kind="decoder", weights=np.ones((1, 1, 1, 1), np.float32), queries=axis)
    told = payload(AttentionSnapshot(title="t", model="", kinds=(kind,)))
    assert told["kinds"][0]["queries"]["tokens"] == ["x" * 199 + "…"]
    assert told["kinds"][0]["queries"]["words"] == [None]


def test_a_choice_of_heads_keeps_their_labels():
    kind = KindMaps(kind="encoder", weights=hand_made(), queries=Axis(tokens=("a", "b", "c")), heads=(3, 7))
    told = payload(AttentionSnapshot(title="t", model="", kinds=(kind,)))["kinds"][0]
    assert (told["heads"], told["head_labels"]) == (2, [3, 7])


def test_three_kinds():
    view = three_kinds_view()
    told = payload(view)
    assert [kind["kind"] for kind in told["kinds"]] == ["encoder", "decoder", "cross"]
    assert [kind["causal"] for kind in told["kinds"]] == [False, True, False]
    encoder, decoder, cross = told["kinds"]
    assert encoder["keys"] is None
    assert cross["keys"]["tokens"] == ["The", "house", "is", "small", "</s>"]
    assert decoder["queries"]["generated"] == 1
    assert (cross["neuron"], cross["no_neuron"]) == (None, "Nobody kept these queries and keys.")
    for kind, shown in zip(view.kinds, told["kinds"]):
        np.testing.assert_allclose(read_maps(shown), kind.weights, atol=1 / 255)


def test_the_parts_of_the_scores_add_up_to_the_weights():
    """Each column of the neuron view, from the bytes alone: product, scaling, bias, soft-cap, mask, softmax."""
    view = three_kinds_view()
    told = payload(view)["kinds"]
    for place in (0, 1):
        kind = told[place]
        q, k, bias, mask = (None if part is None else part.astype(np.float64) for part in read_neuron(kind, 0))
        keys = k[kind["neuron"]["layers"][0]["groups"]]
        scores = kind["neuron"]["scaling"] * np.einsum("hqd,hkd->hqk", q, keys) + bias
        if kind["neuron"]["softcap"]:
            scores = kind["neuron"]["softcap"] * np.tanh(scores / kind["neuron"]["softcap"])
        exponentials = np.exp(scores) * (1 if mask is None else mask)
        weights = exponentials / exponentials.sum(-1, keepdims=True)
        np.testing.assert_allclose(weights, view.kinds[place].weights[0], atol=2e-3)  # half precision
    assert told[0]["neuron"]["layers"][0]["parts"] == {"bias": [2, 5, 5], "mask": False}
    assert told[1]["neuron"]["layers"][0]["parts"] == {"bias": [1, 4, 4], "mask": True}
    assert told[1]["neuron"]["layers"][0]["groups"] == [0, 0]


def test_layers_may_scale_differently():
    rng = np.random.default_rng(0)
    layers = tuple(neuron_layer(rng, heads=1, queries=2, keys=2, scaling=s) for s in (0.5, 0.25))
    kind = KindMaps(
        kind="decoder",
        weights=np.stack([layer.weights for layer in layers]),
        queries=Axis(tokens=("a", "b")),
        neuron=layers,
    )
    told = payload(AttentionSnapshot(title="t", model="", kinds=(kind,)))["kinds"][0]["neuron"]
    assert told["scaling"] is None
    assert [layer["scaling"] for layer in told["layers"]] == [0.5, 0.25]


def test_neuron_parts_and_maps_can_be_left_out():
    told = payload(pair_view(), maps=False, neuron=False)["kinds"][0]
    assert "maps" not in told
    assert told["neuron"] is None
    assert payload(pair_view(), maps=False)["largest_error"] == payload(pair_view())["largest_error"] > 0


def test_queries_too_large_for_half_precision_are_refused():
    layer = neuron_layer(np.random.default_rng(0), heads=1, queries=2, keys=2)
    layer.queries[0, 0, 0] = 7e4
    with pytest.raises(AttentionError) as refused:
        neuron_bytes(layer)
    assert str(refused.value) == (
        "queries, keys or biases reach 7e+04, and the neuron view holds at most 65,504 (half precision); look at "
        "another view of this model"
    )
