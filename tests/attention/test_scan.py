"""One pass, many accumulators: who is given rows, who whole layers, and what comes out is what went in."""

from dataclasses import replace
from typing import ClassVar

import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.row_statistics import row_statistics
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.attention.tile import join_rows
from headscope.errors import AttentionError
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model

SEGMENTS = made_up_segments(7, seed=2, longest=13, documents=5)


class Keep:
    """Keep what a scan hands out, in order."""

    def __init__(self, span, needs=("weights",)):
        self.span, self.needs = span, frozenset(needs)
        self.calls, self.batches = [], []

    def begin(self, batch):
        self.calls.append("begin")
        self.batches.append([])

    def update(self, tile):
        self.calls.append((tile.kind, tile.layer))
        self.batches[-1].append(tile)

    def end(self, batch):
        self.calls.append("end")


def test_the_protocol_is_met():
    assert isinstance(Keep("layer"), TileAccumulator)


@pytest.mark.parametrize("height", [None, 1, 3, 5])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_layers_are_joined_from_their_rows(height, side, kind):
    def weights(segment):
        return random_map(segment, causal=kind == "decoder")

    rows, layers, whole = Keep("rows"), Keep("layer"), Keep("layer")
    scan(HandMadeSource(SEGMENTS, weights, kind=kind, batch_size=3, height=height, side=side), [rows, layers])
    scan(HandMadeSource(SEGMENTS, weights, kind=kind, batch_size=3, side=side), [whole])
    assert layers.calls == whole.calls
    assert layers.calls == ["begin", (kind, 0), (kind, 1), "end"] * 3
    for joined, expected, parts in zip(layers.batches, whole.batches, rows.batches):
        width = expected[0].queries.valid.shape[1]
        assert len(parts) == 2 * (-(-width // (height or width)))
        for tile, other in zip(joined, expected):
            assert (tile.start, tile.rows, tile.kind, tile.layer) == (0, slice(0, width), kind, other.layer)
            torch.testing.assert_close(tile.weights, other.weights, rtol=0, atol=0, equal_nan=True)
            assert torch.equal(tile.visibility.visible, other.visibility.visible)
            assert torch.equal(tile.visibility.counts, other.visibility.counts)
            assert torch.equal(tile.row_valid, other.row_valid)
            torch.testing.assert_close(
                tile.visibility.uniform, other.visibility.uniform, rtol=0, atol=0, equal_nan=True
            )


def test_a_tile_that_is_whole_is_handed_on_as_it_is():
    rows, layers = Keep("rows"), Keep("layer")
    scan(HandMadeSource(SEGMENTS, random_map), [rows, layers])
    for left, right in zip(rows.batches, layers.batches):
        assert all(one is other for one, other in zip(left, right, strict=True))


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart", "modernbert", "mpnet"])
@pytest.mark.parametrize("needs", [("weights",), ("weights", "statistics"), ("statistics",)])
def test_a_models_layers_in_tiles_are_its_layers(family, needs):
    """T5 and BART hand out encoder, decoder and cross attention of different heights in turn."""
    model, vocab = shared_tiny_model(family), vocabulary()
    anatomy = examine(model, vocab)
    found = []
    for limit in (1 << 26, 4 * 4 * 13 * 4):
        keep, rows = Keep("layer", needs), Keep("rows", needs)
        source = ModelSource(model, anatomy, vocab, [SEGMENTS[:4], SEGMENTS[4:]], tile_limit=limit)
        scan(source, [keep, rows])
        found.append((keep, rows))
    (whole, _), (joined, rows) = found
    assert joined.calls == whole.calls
    if anatomy.path == "fused" and "weights" not in needs:
        assert rows.calls == joined.calls  # row statistics alone take little room: a layer is one tile
    else:
        assert len(rows.calls) > 1.5 * len(joined.calls)
    for left, right in zip(joined.batches, whole.batches):
        for tile, other in zip(left, right):
            valid = other.row_valid[:, None, :, None]
            assert tile.start == 0
            assert torch.equal(tile.visibility.visible, other.visibility.visible)
            assert (tile.given_weights is None) == (other.given_weights is None)
            if tile.given_weights is not None:
                apart = (tile.weights - other.weights).masked_fill(~valid, 0)
                assert float(apart.abs().max()) < 1e-5
            if tile.given_weights is not None or tile.given_statistics is not None:
                apart = torch.nan_to_num(tile.statistics - other.statistics).masked_fill(~valid, 0)
                assert float(apart.abs().max()) < 1e-5


def test_statistics_of_a_joined_layer_are_those_of_its_weights():
    keep = Keep("layer")
    scan(HandMadeSource(SEGMENTS, random_map, height=2), [keep])
    for tiles in keep.batches:
        for tile in tiles:
            expected = row_statistics(tile.weights, key_classes=tile.keys.classes, start=0, square=True)
            torch.testing.assert_close(tile.statistics, expected, equal_nan=True)


def test_weights_of_some_tiles_only_are_not_joined_into_a_layer():
    keep = Keep("rows")
    scan(HandMadeSource(SEGMENTS[:1], random_map, height=2), [keep])
    tiles = [tile for tile in keep.batches[0] if tile.layer == 0]
    assert len(tiles) > 1
    bare = join_rows([replace(tiles[0], given_weights=None), *tiles[1:]])
    with pytest.raises(ValueError, match="this tile holds row statistics only"):
        _ = bare.weights
    assert join_rows(tiles).weights.shape[2] == len(SEGMENTS[0])


def test_only_what_is_needed_is_asked_for():
    class Ask:
        layout: ClassVar = HandMadeSource(SEGMENTS, random_map).layout

        def run(self, consumer, needs):
            self.asked = needs

    for needs, expected in (
        ([("weights",)], {"weights"}),
        ([("statistics",)], {"statistics"}),
        ([("weights",), ("statistics",)], {"weights", "statistics"}),
        ([], set()),
    ):
        source = Ask()
        scan(source, [Keep("rows", need) for need in needs])
        assert source.asked == expected


def test_progress_is_told_after_each_batch():
    told: list[ScanCounts] = []
    counts = scan(HandMadeSource(SEGMENTS, random_map, batch_size=3), [], progress=told.append)
    assert [done.segments for done in told] == [3, 6, 7]
    assert told[-1] == counts
    assert counts.tokens == sum(map(len, SEGMENTS))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_stops_the_scan(value):
    def weights(segment):
        made = random_map(segment)
        if segment is SEGMENTS[4]:
            made[1, 2, 1, 0] = value
        return made

    with pytest.raises(
        AttentionError,
        match=r"^encoder head 2-3 has attention that is NaN or infinite, at token 2 of segment 1 of document doc4; the "
        r"weights or the input overflow: try --dtype float32, and check the checkpoint$",
    ):
        scan(HandMadeSource(SEGMENTS, weights, height=2), [Keep("layer")])
