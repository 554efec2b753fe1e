"""Batches: every input once per epoch, similar lengths together, and reproducible masks."""

import numpy as np
import torch

from headscope_train.batches import Batches, masked_batch
from headscope_train.packed_corpus import PackedInputs
from headscope_train.training_masks import Masker


def packed(lengths, *, seed=0):
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return PackedInputs(
        ids=rng.integers(5, 40, starts[-1]).astype(np.int32),
        types=rng.integers(0, 2, starts[-1]).astype(np.uint8),
        starts=starts,
        documents=np.arange(len(lengths)),
        keys=rng.integers(0, 2**63, len(lengths)).astype(np.uint64),
        hash="",
        read=len(lengths),
        left_out={},
    )


def test_an_epoch_has_every_input_once_and_none_of_the_others():
    lengths = np.random.default_rng(1).integers(3, 90, 500)
    places = np.arange(0, 500, 2)
    batches = Batches(lengths, places, size=7, seed=3)
    assert batches.in_epoch == 36
    epochs = []
    for epoch in range(3):
        found = [batches.at(step) for step in range(36 * epoch, 36 * (epoch + 1))]
        assert {number for number, _ in found} == {epoch}
        assert sorted(np.concatenate([part for _, part in found])) == places.tolist()
        assert max(len(part) for _, part in found) == 7
        epochs.append([part.tolist() for _, part in found])
    assert epochs[0] != epochs[1] != epochs[2]
    # Batches of any step are available first: they do not depend on earlier steps.
    again = Batches(lengths, places, size=7, seed=3)
    assert again.at(77)[1].tolist() == epochs[2][5]
    assert Batches(lengths, places, size=7, seed=4).at(77)[1].tolist() != epochs[2][5]


def test_batches_are_of_similar_lengths():
    lengths = np.random.default_rng(1).integers(3, 90, 1000)
    batches = Batches(lengths, np.arange(1000), size=8, seed=0)
    padded = sum(len(part) * lengths[part].max() for _, part in map(batches.at, range(batches.in_epoch)))
    unsorted = sum(8 * lengths[start : start + 8].max() for start in range(0, 1000, 8))
    assert padded / lengths.sum() < 1.1 < 1.5 < unsorted / lengths.sum()
    # Long batches are spread over the epoch.
    widths = [int(lengths[batches.at(step)[1]].max()) for step in range(batches.in_epoch)]
    assert abs(np.corrcoef(np.arange(len(widths)), widths)[0, 1]) < 0.3


def test_a_masked_batch_by_a_plain_loop():
    inputs = packed([6, 11, 3])
    masker = Masker(np.arange(40) >= 5, 3)
    places = np.array([1, 0, 2])
    batch = masked_batch(inputs, places, masker, epoch=4, pad=1)
    assert batch.ids.shape == batch.types.shape == batch.valid.shape == (3, 11)
    assert batch.tokens == 20
    asked, targets, rows = [], [], []
    for row, place in enumerate(places):
        ids, types = inputs.of(int(place))
        shown, chosen = masker.draw(ids, key=int(inputs.keys[place]), epoch=4)
        assert batch.ids[row].tolist() == shown.tolist() + [1] * (11 - len(ids))
        assert batch.types[row].tolist() == types.tolist() + [0] * (11 - len(ids))
        assert batch.valid[row].tolist() == [1] * len(ids) + [0] * (11 - len(ids))
        for place_ in chosen:
            asked.append((row, int(place_)))
            targets.append(int(ids[place_]))
            rows.append(row)
    assert [divmod(int(place), 11) for place in batch.positions] == asked
    assert batch.targets.tolist() == targets
    assert batch.inputs.tolist() == rows
    # The draw does not depend on the batch.
    alone = masked_batch(inputs, np.array([0]), masker, epoch=4, pad=1)
    assert torch.equal(alone.ids[0], batch.ids[1, :6])
