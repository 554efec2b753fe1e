"""Sums over the rows of segments: several tiles, layers without them, and the means that are made of them."""

from dataclasses import replace

import numpy as np
import torch

from headscope.attention.host_copy import SegmentSums, segment_means
from headscope.attention.scan import scan
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import counted, summed
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments


class Tiles:
    """Keeps the tiles of a scan."""

    needs = frozenset({"weights"})
    span = "rows"

    def __init__(self, tiles):
        self.update = tiles.append

    def begin(self, batch):
        pass

    end = begin


def test_tiles_add_up_and_layers_stand_in_order():
    tiles = []
    source = HandMadeSource(made_up_segments(2, seed=0, longest=5, documents=2), random_map)
    scan(source, [Tiles(tiles)])
    sums = SegmentSums()
    for kind, layer, value in (("decoder", 2, 1.0), ("encoder", 0, 5.0), ("decoder", 0, 2.0), ("decoder", 2, 3.0)):
        sums.add(replace(tiles[0], kind=kind, layer=layer), a=torch.full((2, 3), value), b=torch.ones(2))
    found = {kind: (layers, arrays) for kind, layers, arrays in sums.by_kind("b", "a")}
    assert list(found) == ["decoder", "encoder"]
    layers, (b, a) = found["decoder"]
    assert layers == [0, 2]
    np.testing.assert_array_equal(b, [[1, 2], [1, 2]])
    np.testing.assert_array_equal(a[:, :, 0], [[2, 4], [2, 4]])
    assert a.shape == (2, 2, 3)
    assert list(sums.by_kind("c")) == []


def test_a_mean_without_rows_is_0_and_counts_nothing():
    means, some = segment_means(np.array([[6.0, 0.0], [1.0, 9.0]]), np.array([[3.0], [0.0]]))
    np.testing.assert_array_equal(means, [[2, 0], [1, 9]])
    np.testing.assert_array_equal(some, [[1], [0]])
    assert some.dtype == np.int32


class MeanLargest(Accumulator):
    """The mean over rows of the largest weight, of the last layer alone."""

    needs = frozenset({"weights"})

    def declare(self):
        return {"largest": summed("layer", "head+1"), "n_segments": counted("layer")}

    def update(self, tile):
        if tile.layer == 1:
            rows = tile.weights.double().amax(-1).masked_fill(~tile.row_valid[:, None], 0.0)
            sums = torch.cat([rows.sum(-1), torch.zeros(len(rows), 1)], dim=1)
            self.segment_sums.add(tile, largest=sums, rows=tile.row_valid.sum(1))

    def end(self, batch):
        for kind, layers, (sums, rows) in self.segment_sums.by_kind("largest", "rows"):
            means, some = segment_means(sums, rows[:, :, None])
            self.add_segments(batch, kind, layers, largest=means, n_segments=some[:, :, 0])

    def compute(self):
        return self.sums.stacked()


def test_an_accumulator_adds_the_means_of_a_batch_to_its_documents():
    segments = made_up_segments(9, seed=1, longest=8, documents=4)
    source = HandMadeSource(segments, random_map, batch_size=4, height=3)
    accumulator = MeanLargest()
    scan(source, [accumulator])
    found = accumulator.compute()
    documents = sorted({segment.document for segment in segments})
    expected = np.zeros((len(documents), 3))
    for segment in segments:
        expected[documents.index(segment.document)] += random_map(segment)[1].max(-1).mean(-1)
    np.testing.assert_allclose(found["largest.encoder"][:, 1, :-1], expected, atol=1e-12)
    assert not found["largest.encoder"][:, 0].any()
    assert not found["largest.encoder"][:, 1, -1].any()
    number = [sum(segment.document == document for segment in segments) for document in documents]
    np.testing.assert_array_equal(found["n_segments.encoder"], np.stack([np.zeros(4, int), number], axis=1))
