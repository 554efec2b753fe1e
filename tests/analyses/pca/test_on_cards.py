"""The maps of tokens on the cards against the tables they are made of, and how much of a page they may be."""

import json

import numpy as np
import pytest

from headscope.analyses.pca.facts import MANY_HEADS, MOST_TOKENS, pca_cards
from headscope.present.kinds import kinds_of
from headscope.views.markup import json_text
from support import mock_inputs
from support.measured import with_parts
from support.mock_pca import WORDS, with_pca


def told(run, place=0):
    return json.loads(json_text(pca_cards(run, kinds_of(run)[place])))["pca"]


@pytest.fixture(scope="module")
def run():
    return with_pca(mock_inputs.two_kinds())


@pytest.mark.parametrize("place", [0, 1])
def test_places_are_the_tables(run, place):
    kind = kinds_of(run)[place]
    card = told(run, place)
    table = run.tables.get("pca_map")
    assert [one["side"] for one in card["sides"]] == ["output", "query", "key"]
    for one in card["sides"]:
        assert one["axis"] == "row"
        assert len(one["heads"]) == kind.size
        for index in (0, 1, kind.size - 1):
            place = {"layer": index // kind.heads_per_layer + 1, "head": index % kind.heads_per_layer + 1}
            own = table[table["kind"] == kind.name]
            own = own[(own["layer"] == place["layer"]) & (own["head"] == place["head"])]
            own = own[own["vectors"] == one["side"]].sort_values("token")
            furthest = own[["first", "second"]].abs().to_numpy().max()
            drawn = one["heads"][index]
            for name, column in (("x", "first"), ("y", "second")):
                np.testing.assert_allclose(np.array(drawn[name]) * furthest / 250, own[column], atol=furthest / 499)
            longest = own["length"].max()
            np.testing.assert_allclose(np.array(drawn["length"]) * longest / 99, own["length"], atol=longest / 197)
            assert drawn["shares"] == [0.41, 0.17]


def test_tokens_have_their_words_and_class(run):
    card = told(run)
    own = run.tables.get("pca_tokens").query("kind == 'encoder'")
    for row, (which, position, at, words) in zip(own.to_dict("records"), card["tokens"]["row"], strict=True):
        assert [card["words"][word][0] for word in words] == list(WORDS)
        assert WORDS[at] == row["tokens"][position - row["start"]]
        assert position == row["position"]
        named = {"other": "words", "period_comma": "period or comma", "other_punctuation": "other punctuation"}
        assert card["classes"][which] == named[row["token_class"]]
    assert len({which for which, *_ in card["tokens"]["row"]}) == 3


def test_keys_across_attention_are_tokens_of_their_own():
    run = with_pca(mock_inputs.t5())
    cross = [kind.name for kind in kinds_of(run)].index("cross")
    card = told(run, cross)
    assert {one["side"]: one["axis"] for one in card["sides"]} == {"output": "row", "query": "row", "key": "key"}
    assert card["tokens"].keys() == {"row", "key"}


def test_a_layer_that_was_not_measured_has_none(run):
    some = with_pca(mock_inputs.encoder(2, 3), layers=(2,))
    for one in told(some)["sides"]:
        assert [head is None for head in one["heads"]] == [True] * 3 + [False] * 3


def test_without_maps_there_is_nothing(run):
    bare = with_parts(run, pca_map=None)
    assert told(bare) is None
    assert told(with_parts(run, pca_map=run.tables.get("pca_map").iloc[:0])) is None


def test_vectors_of_one_number_lie_on_a_line(run):
    flat = run.tables.get("pca_map").assign(second=None, first=0.0)
    (one, *_) = told(with_parts(run, pca_map=flat.astype({"second": float})))["sides"]
    assert set(one["heads"][0]["x"]) == set(one["heads"][0]["y"]) == {0}


def test_maps_of_many_heads_stay_small():
    """A page of 1,024 heads opens at once; up to 512 heads the maps are less than a megabyte."""
    from headscope.analyses.pca.sums import tokens_for
    from headscope.models.anatomy import KindLayout

    assert told(with_pca(mock_inputs.encoder(2, MANY_HEADS // 2 + 1), tokens=2)) is None
    for layers, heads in ((12, 12), (32, 16)):
        layout = [KindLayout(kind="encoder", layers=layers, heads=heads)]
        tokens = min(MOST_TOKENS, tokens_for(layout))
        small = with_pca(mock_inputs.encoder(1, heads), tokens=tokens)
        assert layers * len(json_text(pca_cards(small, kinds_of(small)[0])["pca"]["sides"])) < 1e6
    more = with_pca(mock_inputs.encoder(1, 2), tokens=MOST_TOKENS + 20)
    assert len(told(more)["tokens"]["row"]) == len(told(more)["sides"][0]["heads"][0]["x"]) == MOST_TOKENS
