"""Queries, keys and outputs of tiles, against transformers' own modules; and that nothing is copied for them."""

import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.output_norms import join_fields
from headscope.attention.tile import HeadVectors, join_rows
from support.inputs import made_up_segments, vocabulary
from support.plain_vectors import SIDES, plain_vectors
from support.tiny_models import tiny_model

SEGMENTS = made_up_segments(7, seed=5, longest=14)


class Keep:
    """Holds every tile, by layer and the rows that it begins with."""

    def __init__(self):
        self.tiles, self.batches = [], []

    def begin(self, batch):
        self.batches.append(batch)
        self.tiles.append({})

    def update(self, tile):
        self.tiles[-1].setdefault((tile.kind, tile.layer), []).append(tile)

    def end(self, batch):
        pass


def kept(model, known, *, path=None, size=4, side="right", tile_limit=1 << 26, vectors=True):
    batches = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
    anatomy = examine(model, known, path=path)
    source = ModelSource(model, anatomy, known, batches, padding_side=side, tile_limit=tile_limit)
    keep = Keep()
    source.run(keep, {"weights", "statistics", *(["vectors"] if vectors else [])})
    return keep


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_vectors_are_those_of_the_model_s_own_modules(family, side, path):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    expected = plain_vectors(model, known, SEGMENTS)
    keep = kept(model, known, path=path, side=side, tile_limit=200)
    number = 0
    for batch, tiles in zip(keep.batches, keep.tiles, strict=True):
        for item in range(len(batch.segments)):
            for (_, layer), own in tiles.items():
                assert len(own) > 1 or own[0].queries.ids.shape[1] < 8
                whole = join_rows(own)
                valid = whole.queries.valid[item]
                for name in SIDES:
                    held = getattr(whole.vectors, {"query": "queries", "key": "keys", "output": "outputs"}[name])
                    torch.testing.assert_close(
                        held[item][:, valid].double(), expected[number][layer][name], rtol=2e-4, atol=2e-5
                    )
            number += 1
    assert number == len(SEGMENTS)
    groups = 4 if family == "bert" else 2
    assert whole.vectors.keys.shape[1] == groups


def test_vectors_are_handed_out_as_the_model_holds_them():
    model, known = tiny_model("llama"), vocabulary(has_cls=False)
    keep = kept(model, known, tile_limit=200)
    tiles = keep.tiles[0]["decoder", 0]
    assert len(tiles) > 1
    for name in ("queries", "keys"):
        assert len({getattr(tile.vectors, name).untyped_storage().data_ptr() for tile in tiles}) == 1


@pytest.mark.parametrize(("family", "asked"), [("bert", False), ("bloom", True)])
def test_nobody_has_vectors_that_were_not_asked_for_or_cannot_be_told(family, asked):
    keep = kept(tiny_model(family), vocabulary(has_cls=family == "bert"), vectors=asked)
    assert all(tile.vectors is None for own in keep.tiles for tiles in own.values() for tile in tiles)


def test_a_layer_has_vectors_where_every_tile_has_them():
    """Rows without vectors are no rows less."""
    queries = torch.arange(24.0).reshape(1, 2, 4, 3)
    tiles = [
        HeadVectors(queries=queries[:, :, rows], keys=queries, outputs=-queries[:, :, rows])
        for rows in (slice(0, 3), slice(3, 4))
    ]
    joined = join_fields(tiles, queries=2, outputs=2)
    assert torch.equal(joined.queries, queries)
    assert torch.equal(joined.outputs, -queries)
    assert join_fields([tiles[0], None], queries=2, outputs=2) is None
    assert join_fields([]) is None
