"""Attention between words on disk: against a loop over pieces, however batches are cut, and against transformers."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.probes.map_cache import TableWriter, WordMaps
from headscope.analyses.probes.probe_data import WordMapCollector, bytes_of, heads_of
from headscope.attention.head_id import HeadId
from headscope.attention.scan import scan
from headscope.encoding.segment import NO_WORD
from headscope.models.anatomy import KindLayout
from support.hand_made import HandMadeSource, random_map
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
