"""Distances between heads over a stream: padding, masks, kinds, groups, and rows that stand for others."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.analyses.distances.sums import DivergenceAccumulator, groups_for
from headscope.analyses.distances.tables import pair_table
from headscope.attention import scan as scanning
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import StackAccumulator, scan
from headscope.attention.stack import RowDraw
from headscope.corpora.reading import read_corpus
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.installing import demo_text
from headscope.models.anatomy import KindLayout
from headscope.models.forward_inputs import model_inputs
from headscope.models.load_model import load_model
from support.hand_made import HandMadeSource, beside_a_sink, random_map, random_sink
from support.inputs import eager_maps, made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model

SEGMENTS = made_up_segments(9, seed=3, longest=19, documents=6)


def plain_sum(maps):
    """Sum over rows of the divergence between all heads of one segment, `[head, head]`, in float64.

    `maps` is `[layer, head, row, key]`, without padding.
    """
    keys = maps.shape[-1]
    smooth = 0.999 * maps.reshape(-1, *maps.shape[2:]).astype(np.float64) + 0.001 / keys
    out = np.zeros((len(smooth), len(smooth)))
    for one, p in enumerate(smooth):
        middle = (p + smooth) / 2
        out[one] = 0.5 * (p * np.log(p / middle) + smooth * np.log(smooth / middle)).sum((1, 2))
    return out


def plain_mean(maps):
    """The mean over all rows of all segments: long segments weigh more."""
    return sum(map(plain_sum, maps)) / sum(own.shape[2] for own in maps)


def result_of(source, **options):
    accumulator = DivergenceAccumulator(source.layout, **options)
    scan(source, [accumulator])
    (result,) = accumulator.compute()
    return result


def assert_exact(found, expected):
    off = np.abs(found - expected)
    assert (off <= 1e-5 * expected + 1e-8).all(), off.max()


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize(("height", "side"), [(None, "right"), (None, "left"), (4, "left"), (1, "right")])
def test_all_rows_of_all_segments_count_equally(kind, height, side):
    """Padding holds NaN in the source, and a causal mask hides later keys: neither shows."""

    def weights(segment):
        return random_map(segment, causal=kind == "decoder")

    result = result_of(HandMadeSource(SEGMENTS, weights, kind=kind, height=height, side=side))
    assert_exact(result.divergence, plain_mean([weights(segment) for segment in SEGMENTS]))
    assert (result.kind, result.layers, result.heads, result.segments) == (kind, 2, 3, len(SEGMENTS))
    assert result.n == result.rows_read == sum(map(len, SEGMENTS))
    assert not result.sampling_error.any()
    assert result.layer_of.tolist() == [0, 0, 0, 1, 1, 1]
    assert (result.divergence == result.divergence.T).all()
    assert not result.divergence.diagonal().any()


def test_heads_are_laid_out_layer_by_layer():
    """Head 1 of layer 1 and head 3 of layer 2 do the same; all others differ."""

    def weights(segment):
        made = random_map(segment)
        made[1, 2] = made[0, 0]
        return made

    result = result_of(HandMadeSource(SEGMENTS, weights))
    assert result.divergence[0, 5] == 0
    assert (result.divergence[np.triu_indices(6, 1)] == 0).sum() == 1


def test_groups_are_documents_and_resample_as_they_were_drawn():
    result = result_of(HandMadeSource(SEGMENTS, random_map))
    documents = sorted({segment.document for segment in SEGMENTS})
    assert result.group_rows.tolist() == [
        sum(len(segment) for segment in SEGMENTS if segment.document == document) for document in documents
    ]
    drawn = np.array([2, 0, 1, 0, 3, 0])
    again = [
        random_map(segment)
        for document, times in zip(documents, drawn)
        for segment in SEGMENTS
        if segment.document == document
        for _ in range(times)
    ]
    assert_exact(result.resampled(drawn), plain_mean(again))


def test_documents_beyond_32_share_groups():
    """Up to 32, each is a group of its own."""
    each = [replace(one, document=f"d{at}") for at, one in enumerate(made_up_segments(32, seed=4, longest=5))]
    assert len(result_of(HandMadeSource(each, random_map)).group_rows) == 32
    segments = made_up_segments(40, seed=4, longest=5)
    result = result_of(HandMadeSource(segments, random_map))
    assert 10 < len(result.group_rows) <= 32
    assert_exact(result.divergence, plain_mean([random_map(segment) for segment in segments]))
    assert result.group_rows.sum() == sum(map(len, segments))
    np.testing.assert_allclose(result.group_sums.sum(0) / result.n, result.divergence, rtol=1e-12)


def test_the_embedded_model_against_a_float64_loop_over_transformers_own_weights():
    loaded = load_model()
    encoder = Encoder(loaded.tokenizer)
    anatomy = examine(loaded.model, encoder.vocabulary)
    segments = list(Packer(encoder, max_length=48).pack(read_corpus(str(demo_text())), max_inputs=4))
    result = result_of(ModelSource(loaded.model, anatomy, encoder.vocabulary, [segments]))
    maps = []
    for segment in segments:
        inputs = model_inputs([segment], anatomy, encoder.vocabulary)[1]
        maps.append(torch.stack(eager_maps(loaded.model, **inputs)["self"])[:, 0].numpy())
    expected = plain_mean(maps)
    # The fused path's weights differ from eager's by up to 1e-6.
    np.testing.assert_allclose(result.divergence, expected, rtol=1e-4, atol=1e-6)
    by_place = {(segment.document, segment.index): own for segment, own in zip(segments, maps)}
    small = [replace(segment, ids=np.full_like(segment.ids, 7)) for segment in segments]  # ids of no matter
    kept = HandMadeSource(small, lambda segment: by_place[segment.document, segment.index])
    assert_exact(result_of(kept).divergence, expected)


@pytest.mark.parametrize("family", ["t5", "bart", "gpt2"])
def test_kinds_are_compared_apart(family):
    model, vocab = shared_tiny_model(family), vocabulary()
    anatomy = examine(model, vocab)
    accumulator = DivergenceAccumulator(anatomy.layout)
    scan(ModelSource(model, anatomy, vocab, [SEGMENTS[:4], SEGMENTS[4:]]), [accumulator])
    results = accumulator.compute()
    assert [(r.kind, r.layers, r.heads) for r in results] == [
        (part.kind, part.layers, part.heads) for part in anatomy.layout
    ]
    sums = {part.kind: 0 for part in anatomy.layout}
    for segment in SEGMENTS:
        inputs = model_inputs([segment], anatomy, vocab)[1]
        for kind, layers in eager_maps(model, **inputs).items():
            own = torch.stack(layers)[:, 0].numpy()
            sums[kind if len(sums) > 1 else "decoder"] += plain_sum(own)
    for result in results:
        expected = sums[result.kind] / sum(map(len, SEGMENTS))
        np.testing.assert_allclose(result.divergence, expected, rtol=1e-4, atol=1e-6)


LONG = made_up_segments(12, seed=5, longest=90, documents=5)
BUDGET = 4 * 6 * 30 * 30  # what six heads of 30 tokens take


@pytest.mark.slow
def test_sampled_rows_come_as_near_as_their_error_says():
    whole = result_of(HandMadeSource(LONG, random_map))
    pairs = np.triu_indices(6, 1)
    off = []
    for seed in range(60):
        part = result_of(HandMadeSource(LONG, random_map), limit=BUDGET, seed=seed)
        assert part.n == whole.n
        assert 0.2 < part.rows_read / part.n < 0.5
        assert (part.sampling_error[pairs] > 0).all()
        off.append(
            ((part.divergence - whole.divergence) / np.where(part.sampling_error > 0, part.sampling_error, 1))[pairs]
        )
    off = np.array(off)
    assert (np.abs(off) < 3).mean() > 0.98
    # Neither too wide: as standard errors are, and to no side.
    assert 0.8 < off.std() < 1.2
    assert np.abs(off.mean(0)).max() < 4 / np.sqrt(60)


def test_the_error_of_a_sample_by_hand():
    """One segment, two heads: the finite population's formula on the rows that were drawn."""
    segment = made_up_segments(3, seed=6, longest=40)[0]
    maps = random_map(segment, layers=1, heads=2)
    rows, keys = maps.shape[2:]
    result = result_of(HandMadeSource([segment], lambda _: maps), limit=4 * 2 * 7 * keys, seed=3)
    drawn = RowDraw((KindLayout("encoder", 1, 2),), seed=3, limit=4 * 2 * 7 * keys).rows(
        "encoder", segment.document, segment.index, rows, keys
    )
    assert len(drawn) == result.rows_read == 7
    values = np.array([plain_sum(maps[:, :, row : row + 1])[0, 1] for row in drawn])
    assert result.divergence[0, 1] == pytest.approx(values.mean(), rel=1e-5)
    error = np.sqrt((1 - 7 / rows) * values.var(ddof=1) / 7)
    assert result.sampling_error[0, 1] == pytest.approx(error, rel=1e-4)


def test_which_rows_are_drawn_depends_on_the_segment_and_the_seed_alone():
    draw = RowDraw((KindLayout("encoder", 2, 3),), seed=1, limit=BUDGET)
    assert draw.rows("encoder", "d", 0, 30, 30) is None
    rows = draw.rows("encoder", "d", 0, 60, 60)
    assert len(rows) == draw.number("encoder", 60, 60) == BUDGET // (4 * 6 * 60)
    assert (np.diff(rows) > 0).all()
    assert rows[-1] < 60
    assert np.array_equal(rows, draw.rows("encoder", "d", 0, 60, 60))
    others = [
        draw.rows("encoder", "e", 0, 60, 60),
        draw.rows("encoder", "d", 1, 60, 60),
        RowDraw(draw.layout, seed=2, limit=BUDGET).rows("encoder", "d", 0, 60, 60),
    ]
    assert all(not np.array_equal(rows, other) for other in others)
    # However long the segment, two rows are read, or the one that there is.
    assert draw.number("encoder", 10**6, 10**6) == 2
    assert draw.number("encoder", 1, 10**6) == 1


def test_an_input_of_512_tokens_of_a_large_model_keeps_to_64_mib():
    draw = RowDraw((KindLayout("encoder", 12, 12),))
    assert draw.number("encoder", 128, 128) == 128
    assert draw.number("encoder", 512, 512) == 224  # of the 227 that may be held: whole sixteens
    assert draw.bytes_of(512) == 4 * 144 * 224 * 512 <= 64 << 20


def test_of_many_heads_fewer_rows_are_compared_but_never_fewer_than_sixteen():
    """What a row costs grows with the square of the heads; 1,024 of them cost a forward pass or two."""
    large = RowDraw((KindLayout("encoder", 32, 32),))
    assert [large.number("encoder", n, n) for n in (10, 16, 128, 512, 4096)] == [10, 16, 16, 16, 4]
    middling = RowDraw((KindLayout("encoder", 24, 16),))
    assert [middling.number("encoder", n, n) for n in (64, 127, 128, 512)] == [64, 127, 112, 16]
    for heads in (384, 1024):
        draw = RowDraw((KindLayout("encoder", 1, heads),))
        cost = draw.number("encoder", 128, 128) * 128 * heads * (heads - 1) // 2
        assert cost <= 1_200_000_000


def test_groups_are_fewer_the_more_heads_there_are():
    """The sums of a group are as many as pairs of heads; all of them stay within 16 MiB of float32."""
    found = {}
    for layers, heads in ((12, 12), (24, 16), (16, 32), (24, 32), (32, 32), (48, 40)):
        groups = groups_for((KindLayout("encoder", layers, heads),))
        found[layers * heads] = groups
        assert groups == 8 or groups * layers * heads * (layers * heads - 1) // 2 * 4 <= 16 << 20
    assert found == {144: 32, 384: 32, 512: 32, 768: 14, 1024: 8, 1920: 8}
    assert groups_for(()) == 32


@pytest.mark.parametrize(("documents", "told"), [(9, False), (10, True), (60, True)])
def test_ten_documents_have_an_interval_though_their_groups_are_fewer(documents, told):
    made = made_up_segments(documents, seed=4, longest=6)
    segments = [replace(one, document=f"d{at}") for at, one in enumerate(made)]
    halves = []
    for part in (segments[::2], segments[1::2]):
        halves.append(DivergenceAccumulator((KindLayout("encoder", 2, 3),), groups=8))
        scan(HandMadeSource(part, random_map), [halves[-1]])
    halves[0].merge(DivergenceAccumulator.from_state(halves[1].state()))
    (result,) = halves[0].compute()
    assert len(result.group_rows) <= 8
    assert (result.documents >= 10) == told
    table = pair_table([result])
    assert table["ci_low"].notna().all() == table["ci_high"].notna().all() == told
    if told:
        assert (table["ci_low"] < table["divergence"]).all()


@pytest.mark.parametrize(("limit", "room"), [(1 << 30, 200_000), (BUDGET, 60_000)])
def test_what_is_held_is_told_and_batches_are_cut_to_keep_it_small(monkeypatch, limit, room):
    model, vocab = shared_tiny_model("bert"), vocabulary()
    anatomy = examine(model, vocab)
    segments = made_up_segments(10, seed=8, longest=60, documents=4)
    found = []
    for most in (1 << 30, room):
        monkeypatch.setattr(scanning, "STACK_LIMIT", most)
        accumulator = DivergenceAccumulator(anatomy.layout, limit=limit)
        assert isinstance(accumulator, StackAccumulator)
        batches: list[int] = []
        source = ModelSource(model, anatomy, vocab, [segments])
        counts = scan(source, [accumulator], progress=lambda done, to=batches: to.append(done.segments))
        assert counts.segments == 10
        assert accumulator.held_bytes == 0
        found.append((accumulator.compute()[0], counts.held_bytes, batches))
        assert source.batches == [segments]  # the caller's source is as it was
    (one, held, whole), (two, less, cut) = found
    assert whole == [10]
    assert len(cut) > 3
    longest = max(map(len, segments))
    if limit == BUDGET:
        assert held < 10 * 1.1 * BUDGET
    else:
        assert held == 10 * 4 * 12 * longest**2
    assert less <= room
    np.testing.assert_allclose(one.divergence, two.divergence, atol=1e-6)
    assert one.rows_read == two.rows_read


def test_other_samples_are_not_merged():
    layout = (KindLayout("encoder", 1, 2),)
    with pytest.raises(
        ValueError,
        match=r"^expected sums over \(KindLayout\(kind='encoder', layers=1, heads=2\),\) with seed 0, "
        r"limit 67108864, came \(KindLayout\(kind='encoder', layers=1, heads=2\),\) with seed 1, limit 67108864; "
        r"merge scans of one model only$",
    ):
        DivergenceAccumulator(layout).merge(DivergenceAccumulator(layout, seed=1))


def test_nothing_seen_is_nothing_found():
    (result,) = DivergenceAccumulator((KindLayout("encoder", 2, 2),)).compute()
    assert (result.n, result.segments, result.rows_read) == (0, 0, 0)
    assert result.divergence.shape == (4, 4)
    assert result.group_sums.shape == (0, 4, 4)
    assert not result.divergence.any()


def test_a_learned_sink_is_a_key_like_another():
    """Heads of which one rests on the sink and one does not are far apart, whatever the tokens get of the rest."""

    def every(segment):
        return np.concatenate([beside_a_sink(segment), random_sink(segment)[..., None]], axis=-1)

    source = HandMadeSource(SEGMENTS, beside_a_sink, height=7, sink=random_sink)
    expected = plain_mean([every(segment) for segment in SEGMENTS])
    result = result_of(source)
    assert_exact(result.divergence, expected)
    assert np.abs(expected - result_of(HandMadeSource(SEGMENTS, random_map)).divergence).max() > 0.01


def test_layers_without_a_sink_put_nothing_on_it():
    known = {(each.document, each.index): each for each in SEGMENTS}

    class Half(HandMadeSource):
        """The first layer has a sink, the second has not."""

        def run(self, consumer, needs):
            class Between:
                begin, end = consumer.begin, consumer.end

                @staticmethod
                def update(tile):
                    if tile.layer == 1:
                        whole = torch.zeros_like(tile.weights)
                        for item, place in enumerate(zip(tile.queries.documents, tile.queries.indices)):
                            own = random_map(known[place])[1]
                            whole[item, :, : own.shape[1], : own.shape[2]] = torch.from_numpy(own)
                        tile = replace(tile, given_weights=whole, sink=None)
                    consumer.update(tile)

            super().run(Between, needs)

    def every(segment):
        maps = np.concatenate([beside_a_sink(segment), random_sink(segment)[..., None]], axis=-1)
        maps[1, ..., :-1], maps[1, ..., -1] = random_map(segment)[1], 0.0
        return maps

    result = result_of(Half(SEGMENTS, beside_a_sink, sink=random_sink))
    assert_exact(result.divergence, plain_mean([every(segment) for segment in SEGMENTS]))
