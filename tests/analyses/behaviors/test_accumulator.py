"""Behaviors: against plain loops over every mask, and where they cannot occur."""

import numpy as np
import pytest
import torch

from headscope.analyses.behaviors.catalog import BEHAVIORS, NAMES, NATURAL
from headscope.analyses.behaviors.compute import best_table, heads_table
from headscope.analyses.behaviors.sums import BehaviorAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from support.behaving import DELIMITERS, few_words, keys_of, masks, of_ids
from support.hand_made import HandMadeSource, random_map
from support.inputs import CLS, SEP, eager_maps, made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model

# By its own experiment alone.
MEASURED = tuple(name for name in NAMES if name != "retrieval")


def plain(segments, maps, visible_of, *, special=(CLS, SEP)):
    """Value, uniform and number of rows of one head by plain loops, `{name: (value, uniform, n)}`."""
    out = {}
    for name in MEASURED:
        value = uniform = 0.0
        rows = 0
        for segment, own in zip(segments, maps, strict=True):
            ids, visible = segment.ids.tolist(), visible_of(len(segment))
            for row in range(len(ids)):
                seen = [key for key in range(len(ids)) if visible[row, key]]
                if name == "distance":
                    value += sum(float(own[row, key]) * abs(row - key) for key in seen)
                    uniform += sum(abs(row - key) for key in seen) / len(seen)
                    rows += 1
                    continue
                keys = keys_of(name, ids, row, visible, special=special)
                if keys:
                    value += sum(float(own[row, key]) for key in keys)
                    uniform += len(keys) / len(seen)
                    rows += 1
        out[name] = (value / rows, uniform / rows, rows) if rows else (np.nan, np.nan, 0)
    return out


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize(("height", "side"), [(None, "right"), (3, "left")])
def test_every_number_is_that_of_a_plain_loop(kind, height, side):
    segments = few_words(24, documents=12)
    source = HandMadeSource(
        segments, lambda s: random_map(s, causal=kind == "decoder"), kind=kind, height=height, side=side
    )
    sums = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    (result,) = sums.compute()
    for layer, head in np.ndindex(2, 3):
        maps = [random_map(s, causal=kind == "decoder")[layer, head] for s in segments]
        for name, (value, uniform, n) in plain(segments, maps, masks(kind)).items():
            column = NAMES.index(name)
            np.testing.assert_allclose(result.heads.value[layer, head, column], value, atol=1e-12)
            np.testing.assert_allclose(result.uniform[layer, column], uniform, atol=1e-12)
            assert result.n[layer, head, column] == n
            assert n > 0, name


@pytest.mark.parametrize(("family", "window"), [("gpt2", None), ("mistral", 6), ("llama", None)])
def test_models_agree_with_their_own_eager_attention_in_float64(family, window):
    model = shared_tiny_model(family)
    segments = few_words(12, seed=3)
    vocab = vocabulary(has_cls=False)
    anatomy = examine(model, vocab)
    sums = BehaviorAccumulator(anatomy.layout, DELIMITERS)
    scan(ModelSource(model, anatomy, vocab, [segments[:7], segments[7:]]), [sums])
    (result,) = sums.compute()
    exact = [eager_maps(model.double(), input_ids=torch.from_numpy(segment.ids)[None])["self"] for segment in segments]
    model.float()
    for layer, head in np.ndindex(3, 4):
        maps = [own[layer][0, head].numpy() for own in exact]
        expected = plain(segments, maps, masks("decoder", window), special=())
        for name, (value, uniform, n) in expected.items():
            column = NAMES.index(name)
            np.testing.assert_allclose(result.heads.value[layer, head, column], value, atol=2e-5, err_msg=name)
            np.testing.assert_allclose(result.uniform[layer, column], uniform, atol=1e-12)
            assert result.n[layer, head, column] == n


def test_what_cannot_occur_is_null():
    """No copies, no delimiters; a single token has no neighbor."""
    segments = [of_ids([30 + place], document=f"doc{place}") for place in range(12)]
    source = HandMadeSource(segments, lambda s: np.ones((2, 3, 1, 1)), kind="decoder")
    sums = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    table = heads_table(sums.compute(), NATURAL)
    never = table[~table["behavior"].isin(["first", "distance"])]
    assert never["value"].isna().all()
    assert never["uniform"].isna().all()
    assert (never["n_rows"] == 0).all()
    assert never["shows"].isna().all()
    assert (table.loc[table["behavior"] == "first", "value"] == 1.0).all()
    assert set(best_table(sums.compute(), NATURAL, seed=0)["behavior"]) == {"first"}


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_cross_attention_has_keys_of_a_class_and_compares_no_places(family):
    model, vocab = shared_tiny_model(family), vocabulary()
    anatomy = examine(model, vocab)
    sums = BehaviorAccumulator(anatomy.layout, DELIMITERS)
    scan(ModelSource(model, anatomy, vocab, [few_words(8, seed=2)]), [sums])
    cross = next(result for result in sums.compute() if result.kind == "cross")
    for name, column in zip(NAMES, range(len(NAMES))):
        never = name != "first" and not BEHAVIORS[name].delimiter  # it compares query and key
        assert (cross.n[..., column] == 0).all() == never, name
        assert np.isnan(cross.heads.value[..., column]).all() == never


def test_words_that_share_an_id_are_no_copies():
    segments = few_words(12)
    source = HandMadeSource(segments, random_map)
    sums = BehaviorAccumulator(source.layout, np.zeros(1, dtype=np.uint8), same_ids=False)
    scan(source, [sums])
    (result,) = sums.compute()
    assert (result.n[..., NAMES.index("duplicate")] == 0).all()
    assert (result.n[..., NAMES.index("local")] > 0).all()


def test_with_few_documents_nothing_is_tested():
    source = HandMadeSource(made_up_segments(5), random_map)
    sums = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    table = heads_table(sums.compute(), NATURAL)
    assert table["ci_low"].isna().all()
    assert table["shows"].isna().all()


def test_text_of_one_token_is_gathered_in_pieces(monkeypatch):
    monkeypatch.setattr("headscope.analyses.behaviors.key_sums._GATHERED", 7)
    segments = [of_ids([40] * 9, document=f"doc{place}") for place in range(3)]
    source = HandMadeSource(segments, lambda s: random_map(s, causal=True), kind="decoder")
    sums = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    (result,) = sums.compute()
    maps = [random_map(s, causal=True)[1, 2] for s in segments]
    expected = plain(segments, maps, masks("decoder"), special=())
    for name in ("duplicate", "induction"):
        column = NAMES.index(name)
        np.testing.assert_allclose(result.heads.value[1, 2, column], expected[name][0], atol=1e-12)
        assert result.n[1, 2, column] == expected[name][2]
