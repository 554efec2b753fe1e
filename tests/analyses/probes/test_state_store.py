"""Vectors on disk: what comes back, how they are scaled, and how sentences are held out."""

import numpy as np
import pytest

from headscope.analyses.probes.structural.state_store import StateStore, share_of, split_held_out
from headscope.attention.word_rows import WordStates
from headscope.errors import InputError
from support.structural import made_up_states, stored_sentence


def test_every_word_comes_back_in_every_layer(tmp_path):
    states = made_up_states(12, seed=1, layers=3, width=5)
    store = StateStore(tmp_path).fill(states)
    assert (store.layers, store.width, len(store.sentences)) == (3, 5, 12)
    assert [(s.document, s.index) for s in store.sentences] == sorted((s.document, s.index) for s in store.sentences)
    by_place = {(s.segment.document, s.segment.index): s for s in states}
    for one in store.sentences:
        state = by_place[one.document, one.index]
        assert list(one.heads) == state.segment.fields["heads"]
        np.testing.assert_array_equal(one.known, state.known)
        expected = [name.startswith("punct") for name in state.segment.fields["relns"]]
        assert one.punctuation.tolist() == expected
        for layer, scale in enumerate(store.scales):
            found = store.layer(layer)[one.rows].astype(np.float64) * scale
            np.testing.assert_allclose(found, state.vectors[layer], rtol=1e-3, atol=1e-6)


def test_the_order_of_arrival_changes_nothing(tmp_path):
    states = made_up_states(6, seed=2)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one = StateStore(tmp_path / "a").fill(states)
    two = StateStore(tmp_path / "b", scales=one.scales).fill(states[::-1])
    assert [s.document for s in one.sentences] == [s.document for s in two.sentences]
    for left, right in zip(one.sentences, two.sentences):
        np.testing.assert_array_equal(one.layer(1)[left.rows], two.layer(1)[right.rows])


def test_large_vectors_fit_because_they_are_scaled_by_a_power_of_two(tmp_path):
    states = [WordStates(s.segment, s.vectors * np.float32(1e6), s.known) for s in made_up_states(3, seed=3, layers=2)]
    store = StateStore(tmp_path).fill(states)
    assert all(np.log2(scale) % 1 == 0 for scale in store.scales)
    found = np.concatenate([store.layer(0)[one.rows] for one in store.sentences]).astype(np.float64)
    assert np.isfinite(found).all()
    # About as large as 1, so that nothing is lost at either end of float16.
    assert 0.2 < np.sqrt((found**2).mean()) < 5


def test_what_is_too_large_even_so_is_cut_off(tmp_path):
    (state,) = made_up_states(1, seed=4, layers=1)
    store = StateStore(tmp_path, scales=(1e-6,)).fill([state])
    assert np.abs(store.layer(0).astype(np.float64)).max() == 65504


def test_a_segment_without_a_tree_is_refused(tmp_path):
    (state,) = made_up_states(1, seed=4)
    del state.segment.fields["heads"]
    with pytest.raises(InputError, match=r"^segment 1 of document d0 has no tree: expected the fields heads"):
        StateStore(tmp_path).fill([state])


def test_a_tenth_of_the_documents_is_held_out_whole():
    sentences = [stored_sentence((0,), document=f"d{i % 40}", index=i // 40) for i in range(200)]
    trained, held_out = split_held_out(sentences)
    assert len(trained) + len(held_out) == 200
    out = {one.document for one in held_out}
    assert len(out) == 4
    assert not out & {one.document for one in trained}
    assert {one.document for one in split_held_out(sentences, seed=1)[1]} != out
    # Whatever the order of the sentences.
    assert {one.document for one in split_held_out(sentences[::-1])[1]} == out


def test_of_one_document_sentences_are_held_out():
    sentences = [stored_sentence((0,), document="d", index=i) for i in range(30)]
    trained, held_out = split_held_out(sentences)
    assert (len(trained), len(held_out)) == (27, 3)
    assert len(split_held_out(sentences[:2])[1]) == 1


def test_shares_are_even():
    shares = [share_of(f"d{i}", i % 3) for i in range(2000)]
    assert np.histogram(shares, bins=4, range=(0, 1))[0] == pytest.approx(500, abs=4 * (2000 * 3 / 16) ** 0.5)
    assert share_of("d1", 2) != share_of("d1", 2, seed=1)
