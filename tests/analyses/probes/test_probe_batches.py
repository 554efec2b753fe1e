"""Batches: every sentence once, of similar length, within bounds, padded with nothing."""

import numpy as np
import pytest

from headscope.analyses.probes.probe_data import NO_TARGET
from headscope.analyses.probes.tree_sentences import UNKNOWN
from support.probe_data import made_up_tables, made_up_trees, on_disk, probe_data


@pytest.fixture(scope="module")
def sentences():
    return made_up_trees(150, longest=12)


@pytest.fixture(scope="module")
def tables(sentences):
    return made_up_tables(sentences)


@pytest.fixture(scope="module")
def data(sentences, tables, tmp_path_factory):
    return probe_data(sentences, on_disk(tmp_path_factory.mktemp("maps") / "maps", tables))


def test_every_sentence_comes_once_an_epoch_in_an_order_of_the_seed(data):
    def cut(*seed):
        return [batch.tolist() for batch in data.cut(data.numbers, most=4, weights=1 << 20, seed=seed)]

    for batches in (cut(0, 0), cut(0, 1)):
        assert sorted(number for batch in batches for number in batch) == list(range(150))
        assert max(map(len, batches)) == 4
    assert cut(0, 0) == cut(0, 0) != cut(0, 1)


def test_sentences_of_a_batch_are_of_similar_length(data, sentences):
    lengths = [
        [len(sentences[number]) for number in batch.tolist()]
        for batch in data.cut(data.numbers, most=4, weights=1 << 20, seed=(0, 0))
    ]
    assert np.mean([max(own) - min(own) for own in lengths]) < 1.5
    # Long and short ones are mixed through the epoch.
    assert np.abs(np.corrcoef(np.arange(len(lengths)), [own[0] for own in lengths])[0, 1]) < 0.4


def test_a_batchs_tables_are_bounded(data, sentences):
    most = 14 * 14 * 3 * 2
    for batch in data.cut(data.numbers, most=32, weights=most, seed=(0, 0)):
        widest = max(len(sentences[number]) for number in batch.tolist()) + 2
        assert len(batch) == 1 or widest**2 * 3 * len(batch) <= most


def test_a_batch_holds_the_tables_and_nothing_beyond_them(data, sentences, tables):
    chosen = np.array([3, 0, 11])
    batch = data.batch(chosen)
    widest = max(len(sentences[number]) for number in chosen.tolist())
    assert batch.tables.shape == (3, widest, widest, 3)
    for item, number in enumerate(chosen.tolist()):
        size = len(sentences[number])
        np.testing.assert_array_equal(batch.tables[item, :size, :size], tables[number][2:, 2:])
        np.testing.assert_array_equal(batch.to_words[item, :, :size], tables[number][:2, 2:])
        np.testing.assert_array_equal(batch.to_special[item, :size], tables[number][2:, :2])
        for beyond in (batch.tables[item, size:], batch.tables[item, :, size:], batch.to_words[item, :, size:]):
            assert not beyond.any()
        assert batch.valid[item].tolist() == [True] * size + [False] * (widest - size)
        assert batch.targets[0, item, :size].tolist() == sentences[number].heads.tolist()
        assert (batch.targets[:, item, size:] == NO_TARGET).all()
        assert (batch.labels[item, size:] == UNKNOWN).all()
        assert batch.words[item, :size].tolist() == data.words[number].tolist()
    assert batch.lengths.tolist() == [len(sentences[number]) for number in chosen.tolist()]
    np.testing.assert_array_equal(batch.flipped, batch.tables.permute(0, 2, 1, 3))
