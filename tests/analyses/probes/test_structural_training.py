"""The structural probe's loss by hand, its batches, and a planted tree that training finds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers.probe_training import Falling
from headscope.analyses.probes.structural.layer_training import (
    SentenceBatches,
    StructuralOptions,
    mean_loss,
    squared_distances,
    structural_loss,
    train_structural,
)
from headscope.analyses.probes.structural.state_store import StateStore, split_held_out
from headscope.analyses.probes.structural.tree_scores import tree_distances
from support.structural import made_up_states, planted_states


def test_squared_distances_are_those_of_all_differences():
    rng = torch.Generator().manual_seed(0)
    vectors, projection = (torch.randn(*shape, generator=rng) for shape in ((3, 5, 7), (7, 4)))
    found = squared_distances(vectors, projection)
    for item in range(3):
        for i in range(5):
            for j in range(5):
                difference = (vectors[item, i] - vectors[item, j]) @ projection
                assert found[item, i, j] == pytest.approx(float((difference**2).sum()), abs=1e-4)
    assert (squared_distances(1e4 * vectors, projection) >= 0).all()


def test_the_loss_by_hand():
    gold = torch.tensor([[[0.0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 9], [1, 0, 9], [9, 9, 9]]])
    predicted = torch.tensor([[[0, 2, 2], [2, 0, 4], [2, 4, 0.0]], [[0, 0, 7], [0, 0, 7], [7, 7, 7]]])
    known = torch.tensor([[True, True, True], [True, True, False]])
    # |2-1| and |4-1|, both ways, over 9; |0-1| both ways over 4; the mean of the two sentences.
    assert float(structural_loss(predicted, gold, known)) == pytest.approx((8 / 9 + 2 / 4) / 2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return StateStore(tmp_path_factory.mktemp("states")).fill(made_up_states(21, seed=4, longest=12))


def test_batches_hold_every_sentence_once_with_its_tree(store):
    batches = SentenceBatches(store.sentences, batch_size=4)
    vectors = store.layer(1)
    for shuffle in (None, np.random.default_rng(1)):
        seen = []
        groups = list(batches.of(vectors, shuffle=shuffle))
        assert len(groups) == 6
        for held, gold, known in groups:
            for item in range(len(held)):
                # A sentence is found again by its vectors.
                (one,) = [
                    s
                    for s in store.sentences
                    if len(s) <= held.shape[1]
                    and torch.equal(held[item, : len(s)], torch.from_numpy(np.array(vectors[s.rows])).float())
                ]
                seen.append((one.document, one.index))
                assert known[item].tolist() == [*one.known.tolist(), *[False] * (held.shape[1] - len(one))]
                np.testing.assert_array_equal(
                    gold[item, : len(one), : len(one)], tree_distances(one.heads).astype(np.float32)
                )
        assert sorted(seen) == [(s.document, s.index) for s in store.sentences]
    first, second = (
        [tuple(held.shape) for held, _, _ in batches.of(vectors, shuffle=np.random.default_rng(seed))]
        for seed in (1, 2)
    )
    assert first != second


def test_the_mean_loss_counts_sentences_once(store):
    projection = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
    losses = []
    for one in store.sentences:
        alone = SentenceBatches([one], batch_size=1)
        ((held, gold, known),) = alone.of(store.layer(0))
        losses.append(float(structural_loss(squared_distances(held, projection), gold, known)))
    batches = SentenceBatches(store.sentences, batch_size=5)
    assert mean_loss(store.layer(0), projection, batches) == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    store = StateStore(tmp_path_factory.mktemp("planted")).fill(planted_states(300, seed=1))
    return store, [SentenceBatches(part, batch_size=32) for part in split_held_out(store.sentences)]


OPTIONS = StructuralOptions(rate=0.1, rounds=12, least_steps=60)


def test_a_planted_tree_is_found(planted):
    store, (trained, held_out) = planted
    probe = train_structural(store, 1, batches=trained, held_out=held_out, options=OPTIONS)
    assert probe.projection.shape == (12, 12)
    assert probe.loss < 0.12
    off = [
        np.abs(probe.distances(store.layer(1)[one.rows][None])[0] - tree_distances(one.heads)).mean()
        for one in held_out.sentences
    ]
    assert np.mean(off) < 0.2
    # Nothing is there to be found in noise: the median distance of the words is the best that can be said.
    noise = train_structural(store, 0, batches=trained, held_out=held_out, options=OPTIONS)
    assert noise.loss > 3 * probe.loss


def test_the_kept_projection_has_the_loss_that_it_says(planted):
    store, (trained, held_out) = planted
    short = StructuralOptions(rate=0.05, rounds=4, least_steps=5)
    probe = train_structural(store, 2, batches=trained, held_out=held_out, options=short)
    assert mean_loss(store.layer(2), probe.projection, held_out) == probe.loss


def test_training_ends_without_progress(planted):
    store, (trained, held_out) = planted
    # So fast a rate makes things worse.
    wild = StructuralOptions(rate=3.0, rounds=60, least_steps=3)
    probe = train_structural(store, 0, batches=trained, held_out=held_out, options=wild)
    assert wild.falling.falls < probe.rounds < 60
    assert probe.settled


def test_rounds_that_do_not_suffice_are_not_called_settled(planted):
    store, (trained, held_out) = planted
    short = StructuralOptions(rate=0.02, rounds=2, least_steps=5)
    assert not train_structural(store, 1, batches=trained, held_out=held_out, options=short).settled


@pytest.mark.slow
def test_going_on_for_much_longer_gains_next_to_nothing(planted):
    """The loss has stopped falling: more than twice the steps, down to lower rates, take off next to nothing."""
    store, (trained, held_out) = planted
    usual = StructuralOptions(rate=0.1, least_steps=120)
    longer = replace(usual, falling=Falling(falls=8, factor=0.5, least_gain=1e-4), least_steps=240)
    ours, theirs = (
        train_structural(store, 1, batches=trained, held_out=held_out, options=how) for how in (usual, longer)
    )
    assert theirs.rounds * 240 > 2 * ours.rounds * 120
    assert ours.loss < theirs.loss + 0.002


def test_seeds_differ_and_repeat(planted):
    store, (trained, held_out) = planted
    short = StructuralOptions(rounds=1, least_steps=10, rank=5)
    probes = [
        train_structural(store, 1, batches=trained, held_out=held_out, seed=seed, options=short) for seed in (0, 0, 1)
    ]
    assert probes[0].projection.shape == (12, 5)
    assert torch.equal(probes[0].projection, probes[1].projection)
    assert not torch.equal(probes[0].projection, probes[2].projection)
