"""What uniform attention is compared with where a model never shows its masks: windows and sparsity are seen."""

import pytest
import torch
import transformers as tf

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.row_quantities import RowQuantity
from support.inputs import PAD, made_up_segments, vocabulary
from support.kept_tiles import KeptTiles
from support.tiny_models import VOCABULARY, shared_tiny_model

WINDOW = 4


def tiles_of(model, segments, **how):
    known = vocabulary(has_cls=False)
    anatomy = examine(model, known, path="fallback")
    keep = KeptTiles()
    ModelSource(model, anatomy, known, [segments], **how).run(keep, {"weights", "statistics"})
    return keep.tiles


@pytest.mark.parametrize("tile_limit", [1 << 26, 4 * 5 * 16 * 3])
def test_a_local_layer_is_compared_with_its_window(tile_limit):
    config = tf.GPTNeoConfig(
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=WINDOW,
        vocab_size=VOCABULARY,
        max_position_embeddings=40,
        pad_token_id=PAD,
    )
    torch.manual_seed(0)
    segments = made_up_segments(5, seed=3, longest=16)
    tiles = tiles_of(tf.GPTNeoModel(config).eval(), segments, tile_limit=tile_limit)
    assert (len(tiles) > 2) == (tile_limit < 1 << 26)
    for tile in tiles:
        reach = 100 if tile.layer == 0 else WINDOW
        for item, segment in enumerate(segments):
            for row in range(*tile.rows.indices(len(segment))):
                keys = min(row + 1, reach)
                place = row - tile.start
                assert tile.visibility.visible[item, place].nonzero().flatten().tolist() == list(
                    range(row + 1 - keys, row + 1)
                )
                uniform = tile.visibility.uniform[item, 0, place]
                assert float(uniform[RowQuantity.ENTROPY]) == pytest.approx(float(torch.tensor(keys).log()))


@pytest.mark.parametrize("family", ["bert", "gpt2", "mistral", "modernbert", "t5"])
def test_the_fallback_sees_the_keys_that_the_masks_show(family):
    model, known = shared_tiny_model(family), vocabulary(has_cls=False)
    segments = made_up_segments(4, seed=9)
    keep = KeptTiles()
    ModelSource(model, examine(model, known), known, [segments]).run(keep, {"weights", "statistics"})
    found = {(tile.kind, tile.layer): tile for tile in tiles_of(model, segments)}
    assert len(found) == len(keep.tiles)
    for tile in keep.tiles:
        rows = tile.row_valid[:, :, None]
        fallen = found[tile.kind, tile.layer].visibility.visible
        assert torch.equal(tile.visibility.visible & rows, fallen & rows)


def test_layers_that_look_alike_share_what_they_see():
    tiles = tiles_of(shared_tiny_model("gpt2"), made_up_segments(3, seed=1))
    assert len(tiles) == 3
    assert len({id(tile.visibility) for tile in tiles}) == 1
