"""Attention between words: as a scan writes it, and in padded mini-batches."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.probes.map_cache import TableWriter, WordMaps
from headscope.analyses.probes.probe_data import NO_TARGET, WordMapCollector, bytes_of, heads_of
from headscope.analyses.probes.tree_sentences import UNKNOWN
from headscope.attention.head_id import HeadId
from headscope.attention.scan import scan
from headscope.encoding.segment import NO_WORD
from headscope.models.anatomy import KindLayout
from support.hand_made import HandMadeSource, random_map
from support.probe_data import made_up_tables, made_up_trees, on_disk, probe_data
from support.trees import between, tree_segments


def collected(folder, segments, *, pooling="mean", kind="encoder", **cut):
    causal = kind == "decoder"
    source = HandMadeSource(segments, lambda s: random_map(s, causal=causal), kind=kind, **cut)
    writer = TableWriter(folder, heads=6)
    numbers = {(s.document, s.index): place for place, s in enumerate(segments)}
    scan(source, [WordMapCollector(writer, source.layout, numbers, pooling=pooling)])
    writer.close()
    return WordMaps(folder)


def expected(segment, weights, *, pooling):
    """`[place, place]` of one head: the first special token, the last, the words; by a loop."""
    word_ids = segment.word_ids.tolist()
    places, table = between(weights, word_ids, pooling)
    special = [at for at, tokens in enumerate(places) if word_ids[tokens[0]] == NO_WORD]
    at = {word_ids[tokens[0]]: place for place, tokens in enumerate(places)}
    order = [special[0], special[-1], *(at.get(word) for word in range(len(segment.words)))]
    out = np.zeros((len(order), len(order)))
    for row, own in enumerate(order):
        for column, other in enumerate(order):
            if own is not None and other is not None:
                out[row, column] = table[own, other]
    return out


@pytest.mark.parametrize("pooling", ["mean", "first", "max"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_against_a_loop_over_pieces(tmp_path, pooling, kind):
    segments = tree_segments(12, documents=4)
    maps = collected(tmp_path / "maps", segments, pooling=pooling, kind=kind)
    assert maps.numbers.tolist() == list(range(12))
    for number, segment in enumerate(segments):
        weights = random_map(segment, causal=kind == "decoder")
        found = maps.table(number).float().numpy()
        assert found.shape == (len(segment.words) + 2, len(segment.words) + 2, 6)
        for head in range(6):
            wanted = expected(segment, weights[head // 3, head % 3], pooling=pooling)
            np.testing.assert_allclose(found[..., head], wanted, atol=5e-4)  # float16


def test_however_batches_are_cut_and_padded(tmp_path):
    segments = tree_segments(12, documents=4)
    whole = collected(tmp_path / "whole", segments)
    for place, cut in enumerate([{"batch_size": 1}, {"height": 3, "batch_size": 5}, {"side": "left"}]):
        other = collected(tmp_path / str(place), segments[::-1], **cut)
        for number in range(12):
            np.testing.assert_allclose(
                other.table(11 - number).float().numpy(), whole.table(number).float().numpy(), atol=5e-4
            )


def test_one_special_token_is_the_first_and_there_is_no_last(tmp_path):
    segment = next(s for s in tree_segments(20) if (s.word_ids == NO_WORD).sum() == 2)
    lone = replace(segment, ids=segment.ids[:-1], token_types=segment.token_types[:-1], word_ids=segment.word_ids[:-1])
    table = collected(tmp_path / "maps", [lone]).table(0).float().numpy()
    assert (table[0].sum((0, 1)) > 0.9).all()
    assert not table[1].any()
    assert not table[:, 1].any()


def test_heads_are_named_in_the_order_of_the_tables():
    layout = (KindLayout("encoder", 1, 2), KindLayout("decoder", 2, 1), KindLayout("cross", 2, 1))
    named = [HeadId("encoder", 1, 1), HeadId("encoder", 1, 2), HeadId("decoder", 1, 1), HeadId("decoder", 2, 1)]
    assert heads_of(layout) == named


def test_the_room_that_tables_take_is_known_before_they_are_made(tmp_path):
    segments = tree_segments(12, documents=4)
    collected(tmp_path / "maps", segments)
    size = (tmp_path / "maps" / "tables.f16").stat().st_size
    assert size == bytes_of([len(segment.words) for segment in segments], 6)


def test_words_of_a_multi_word_token_share_its_rows_and_columns(tmp_path):
    segment = next(s for s in tree_segments(20) if len(s.words) > 3 and 2 in s.word_ids)
    apart = collected(
        tmp_path / "apart", [replace(segment, word_ids=np.where(segment.word_ids == 2, 1, segment.word_ids))]
    )
    shared = collected(
        tmp_path / "shared",
        [replace(segment, word_ids=np.where(segment.word_ids == 2, 1, segment.word_ids), shared=(2,))],
    )
    before, after = (each.table(0).float().numpy() for each in (apart, shared))
    assert not before[4].any()
    # The first two rows are special tokens.
    np.testing.assert_array_equal(after[4], after[3])
    np.testing.assert_array_equal(after[:, 4], after[:, 3])
    others = [place for place in range(len(before)) if place != 4]
    np.testing.assert_array_equal(after[np.ix_(others, others)], before[np.ix_(others, others)])


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
