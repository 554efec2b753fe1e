"""Every family, against transformers' own eager weights: the same numbers through tap, tiles and fallback."""

from dataclasses import replace

import pytest
import torch

from headscope.attention.fused.single_pass import fused_attention
from headscope.attention.model.model_source import ModelSource
from headscope.attention.row_quantities import OFFSETS, RowQuantity
from headscope.attention.row_statistics import row_statistics
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import collate
from headscope.models.forward_inputs import model_inputs
from support.inputs import eager_maps, made_up_segments, padded_left, shared_anatomy, vocabulary
from support.tiny_models import CONFIGS, PATHS, shared_tiny_model

FAMILIES = sorted(CONFIGS)
DECODERS = {"gpt2", "llama", "gpt_neox", "opt", "mistral", "qwen3", "gemma2", "phi3", "bloom", "falcon"}
SEQ2SEQ = {"t5", "bart"}


class Keep:
    """Keep every tile."""

    def __init__(self):
        self.batches = []

    def begin(self, batch):
        self.batches.append((batch, []))

    def update(self, tile: AttentionTile):
        self.batches[-1][1].append(tile)

    def end(self, batch):
        assert batch is self.batches[-1][0]


def maps_of(consumer, *, side="right"):
    """Each segment's whole maps, padding cut: {(document, index, kind): [layer, head, query, key]}."""
    found = {}
    for batch, tiles in consumer.batches:
        for item in range(len(batch.segments)):
            for kind in {tile.kind for tile in tiles}:
                own = [tile for tile in tiles if tile.kind == kind]
                layers = sorted({tile.layer for tile in own})
                stack = []
                for layer in layers:
                    rows = torch.cat(
                        [t.weights[item] for t in sorted((t for t in own if t.layer == layer), key=lambda t: t.start)],
                        dim=1,
                    )
                    q, k = own[0].queries.valid[item], own[0].keys.valid[item]
                    stack.append(rows[:, q][:, :, k])
                segment = batch.segments[item]
                found[segment.document, segment.index, kind] = torch.stack(stack)
    return found


def run(
    family,
    segments,
    *,
    path=None,
    size=16,
    side="right",
    tile_limit=1 << 26,
    needs=frozenset({"weights", "statistics"}),
):
    model = shared_tiny_model(family)
    vocab = vocabulary(has_cls=family not in DECODERS)
    anatomy = shared_anatomy(family, has_cls=family not in DECODERS, path=path)
    batches = [segments[i : i + size] for i in range(0, len(segments), size)]
    source = ModelSource(model, anatomy, vocab, batches, padding_side=side, tile_limit=tile_limit)
    keep = Keep()
    source.run(keep, needs)
    return anatomy, keep


@pytest.mark.parametrize("family", FAMILIES)
def test_the_path_and_the_kinds_are_found(family):
    anatomy, _ = run(family, made_up_segments(1))
    assert anatomy.path == PATHS[family]
    kinds = [part.kind for part in anatomy.layout]
    if family in SEQ2SEQ:
        assert [(p.kind, p.layers) for p in anatomy.layout] == [("encoder", 2), ("decoder", 3), ("cross", 3)]
    else:
        assert kinds == (["decoder"] if family in DECODERS else ["encoder"])
        assert [(p.layers, p.heads) for p in anatomy.layout] == [(3, 4)]


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_those_of_eager_attention_one_segment_at_a_time(family):
    segments = made_up_segments(6, longest=18)
    anatomy, keep = run(family, segments, size=4)
    model = shared_tiny_model(family)
    vocab = vocabulary(has_cls=family not in DECODERS)
    found = maps_of(keep)
    for segment in segments:
        # The oracle: no padding, no batch, transformers' own output_attentions.
        _, inputs, _ = model_inputs([segment], anatomy, vocab)
        expected = eager_maps(model, **inputs)
        for part in anatomy.layout:
            theirs = torch.stack([m[0] for m in expected.get(part.kind, expected.get("self"))])
            ours = found[segment.document, segment.index, part.kind]
            assert ours.shape == theirs.shape
            torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("side", "size"), [("right", 1), ("left", 16), ("left", 3)])
def test_padding_and_batch_size_do_not_matter(family, side, size):
    segments = made_up_segments(9, seed=1)
    _, keep = run(family, segments, size=16)
    if side == "left" and not padded_left(family, has_cls=family not in DECODERS):
        from headscope.errors import ModelError

        with pytest.raises(
            ModelError, match="reads an input otherwise when it is padded on the left; pad on the right"
        ):
            run(family, segments, size=size, side=side)
        return
    _, other = run(family, segments, size=size, side=side)
    left, right = maps_of(keep), maps_of(other)
    assert left.keys() == right.keys()
    for key in left:
        torch.testing.assert_close(left[key], right[key], atol=2e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_layer_in_many_tiles_is_the_layer_in_one(family):
    segments = made_up_segments(3, seed=2, longest=24)
    _, whole = run(family, segments, size=1)
    _, cut = run(family, segments, size=1, tile_limit=4 * 24 * 5)
    assert max(len(tiles) for _, tiles in cut.batches) > max(len(tiles) for _, tiles in whole.batches)
    left, right = maps_of(whole), maps_of(cut)
    for key in left:
        torch.testing.assert_close(left[key], right[key], atol=1e-5, rtol=0)
    for _, tiles in cut.batches:
        for tile in tiles:
            words = tile.queries.word_ids[0]
            stop = tile.rows.stop
            if stop < len(words):
                assert words[stop] != words[stop - 1] or words[stop] == -1


@pytest.mark.parametrize("family", sorted(f for f, path in PATHS.items() if path != "fallback"))
def test_the_tap_and_the_fallback_agree(family):
    segments = made_up_segments(5, seed=3)
    _, tapped = run(family, segments)
    _, fallen = run(family, segments, path="fallback")
    left, right = maps_of(tapped), maps_of(fallen)
    assert left.keys() == right.keys()
    for key in left:
        torch.testing.assert_close(left[key], right[key], atol=2e-5, rtol=0)


@pytest.mark.parametrize("family", sorted(f for f, path in PATHS.items() if path == "fused"))
@pytest.mark.parametrize("side", ["right", "left"])
def test_fused_row_statistics_are_those_of_the_weights(family, side):
    segments = made_up_segments(5, seed=4)
    if side == "left" and not padded_left(family):
        pytest.skip("this family cannot be padded on the left (refusal tested elsewhere)")
    _, keep = run(family, segments, side=side)
    _, bare = run(family, segments, side=side, needs={"statistics"})
    for (_, tiles), (_, without) in zip(keep.batches, bare.batches):
        for tile, other in zip(tiles, without):
            exact = row_statistics(tile.weights, key_classes=tile.keys.classes, start=tile.start, square=tile.square)
            rows = tile.row_valid[:, None, :, None]
            difference = torch.nan_to_num(tile.statistics.double() - exact) * rows
            assert float(difference.abs().max()) < 3e-6
            assert torch.equal(torch.isnan(exact), torch.isnan(tile.statistics))
            assert torch.equal(torch.nan_to_num(other.statistics), torch.nan_to_num(tile.statistics))


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize(("side", "tile_limit"), [("right", 1 << 26), ("left", 1 << 26), ("right", 4 * 24 * 5)])
def test_a_quantity_of_any_offsets_is_the_same_on_the_fused_path(family, side, tile_limit, monkeypatch):
    """As one that is added to `OFFSETS` would be: beside the band of three diagonals that is read in one go."""
    near = (-3, -2, -1, 1, 2, 3)
    monkeypatch.setitem(OFFSETS, RowQuantity.CURRENT, near)
    monkeypatch.setattr("headscope.attention.fused.statistics_pass.BEYOND", [RowQuantity.CURRENT])
    segments = made_up_segments(5, seed=4, longest=24)
    _, keep = run(family, segments, size=1 if tile_limit < 1 << 26 else 16, side=side, tile_limit=tile_limit)
    seen = 0
    for tile in (tile for _, tiles in keep.batches for tile in tiles):
        found = tile.statistics[..., RowQuantity.CURRENT].double()
        assert bool(torch.isnan(found[tile.row_valid[:, None].expand_as(found)]).all()) == (tile.kind == "cross")
        if tile.kind == "cross":
            continue
        queries, keys = (torch.arange(size) for size in tile.weights.shape[-2:])
        apart = keys[None] - (queries[:, None] + tile.start)
        expected = (tile.weights.double() * torch.isin(apart, torch.tensor(near))).sum(-1)
        assert float(((found - expected) * tile.row_valid[:, None]).abs().max()) < 3e-6
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize("family", ["modernbert", "mistral", "gemma2"])
def test_local_layers_see_fewer_keys(family):
    _, keep = run(family, made_up_segments(1, seed=5, longest=20))
    tiles = keep.batches[0][1]
    for tile in tiles:
        assert torch.equal(tile.visibility.counts, (tile.weights[:, 0] > 0).sum(-1))
    counts = {int(tile.visibility.counts.sum()) for tile in tiles}
    assert len(counts) == (1 if family == "mistral" else 2)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("size", "tile_limit"), [(16, 1 << 26), (3, 4 * 3 * 20 * 6)])
def test_weights_alone_are_the_same_weights(family, size, tile_limit):
    """Without row statistics a plain softmax does; padded batches, whole layers and short tiles."""
    segments = made_up_segments(7, seed=6)
    _, both = run(family, segments, size=size, tile_limit=tile_limit)
    _, alone = run(family, segments, size=size, tile_limit=tile_limit, needs={"weights"})
    for (_, tiles), (_, bare) in zip(both.batches, alone.batches):
        assert len(tiles) == len(bare)
        for tile, other in zip(tiles, bare):
            assert (other.kind, other.layer, other.start) == (tile.kind, tile.layer, tile.start)
            assert other.given_statistics is None
            rows = tile.row_valid[:, None, :, None]
            difference = (other.weights - tile.weights).masked_fill(~rows, 0)
            # T5 does not scale its scores: they are large, and so is what float32 rounds off them.
            assert float(difference.abs().max()) < (1e-5 if family == "t5" else 1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("needs", [{"weights", "statistics"}, {"weights"}], ids=["weights and statistics", "weights"])
def test_masked_keys_have_a_weight_of_exactly_nothing(family, side, needs):
    """Padding, later tokens, tokens outside a window: 0, not a small number; so ties and maxima are safe."""
    if side == "left" and not padded_left(family, has_cls=family not in DECODERS):
        pytest.skip("this family cannot be padded on the left (refusal tested elsewhere)")
    _, keep = run(family, made_up_segments(6, seed=7), side=side, needs=needs)
    hidden = 0
    for _, tiles in keep.batches:
        for tile in tiles:
            seen = tile.visibility.visible[:, None].expand_as(tile.weights)
            rows = tile.row_valid[:, None, :, None].expand_as(tile.weights)
            assert not (tile.weights[~seen & rows] != 0).any()
            hidden += int((~seen & rows).sum())
            sums = tile.weights.sum(-1)[tile.row_valid[:, None].expand(tile.weights.shape[:3])]
            torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-5, rtol=0)
    assert hidden > 100


@pytest.mark.parametrize("masked", [None, "causal", "padding"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("groups", [4, 2])
def test_both_ways_of_fusing_give_the_same_output(masked, dtype, groups):
    generator = torch.Generator().manual_seed(0)
    batch, heads, n, width = 3, 4, 9, 8
    query = 4 * torch.randn(batch, heads, n, width, generator=generator, dtype=dtype)
    key, value = (torch.randn(batch, groups, n, width, generator=generator, dtype=dtype) for _ in range(2))
    allowed = torch.ones(batch, 1, n, n, dtype=torch.bool)
    if masked == "causal":
        allowed = allowed.tril()
    if masked == "padding":
        allowed[1, ..., 5:] = allowed[2, ..., 2:] = False
    mask = (
        None
        if masked is None
        else torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)
    )
    keys = collate(made_up_segments(batch, seed=1, longest=n), vocabulary()).info
    keys = replace(keys, classes=torch.zeros(batch, n, dtype=torch.long), valid=torch.ones(batch, n, dtype=torch.bool))
    both, alone = (
        fused_attention(
            query, key, value, mask=mask, scaling=0.3, keys=keys, start=0, square=True, need_weights=True,
            need_statistics=need,
        )
        for need in (True, False)
    )  # fmt: skip
    wide = key.repeat_interleave(heads // groups, dim=1), value.repeat_interleave(heads // groups, dim=1)
    scores = (0.3 * query @ wide[0].transpose(2, 3)).masked_fill(~allowed, -torch.inf)
    weights = scores.softmax(-1)
    atol = 1e-6 if dtype == torch.float32 else 1e-14
    for result in (both, alone):
        torch.testing.assert_close(result.weights, weights, atol=atol, rtol=0)
        torch.testing.assert_close(result.output, (weights @ wide[1]).transpose(1, 2), atol=10 * atol, rtol=0)
        assert not result.weights.masked_select(~allowed).any()
    assert both.statistics is not None
    assert alone.statistics is None
