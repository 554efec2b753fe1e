"""Principal directions, against scikit-learn's on the plain list of vectors from transformers' own modules."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from headscope.analyses.distribution.examples import PADDING
from headscope.analyses.pca import sums as sample_sizes
from headscope.analyses.pca.compute import _lacking, map_table, pca_table
from headscope.analyses.pca.directions import MOST, Moment, Moments, moment_of, principal_directions
from headscope.analyses.pca.sums import (
    FEWEST_TOKENS,
    MOST_TOKENS,
    SIDES,
    PcaAccumulator,
    layers_apart,
    numbers_of,
    tokens_for,
)
from headscope.analyses.pca.tables import EFFECTIVE, MAP, PCA_TABLE
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.batching import collate
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.row_selection import row_hashes, segment_key
from headscope.statistics.tables.frames import check_table
from support.inputs import made_up_segments, vocabulary
from support.plain_vectors import plain_vectors
from support.tiny_models import tiny_model

SEGMENTS = made_up_segments(14, seed=13, longest=12)
SPECIAL = (KeyClass.CLS, KeyClass.SEP)
DRAWN = 20


def measured(model, known, *, path=None, size=5, tile_limit=1 << 26, side="right"):
    anatomy = examine(model, known, path=path)
    batches = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
    source = ModelSource(model, anatomy, known, batches, tile_limit=tile_limit, padding_side=side)
    sums = PcaAccumulator(anatomy.layout, most=DRAWN)
    scan(source, [sums])
    return sums


def listed(model, known):
    """The plain list of every layer's vectors, and where each comes from: `[layer][side]` `[token, head, width]`."""
    vectors, places = plain_vectors(model, known, SEGMENTS), []
    kept = [{side: [] for side in SIDES} for _ in vectors[0]]
    for segment, of_layers in zip(SEGMENTS, vectors, strict=True):
        classes = collate([segment], known, decoder=not known.has_cls).info.classes[0].tolist()
        for at, one in enumerate(classes):
            if one in SPECIAL:
                continue
            places.append((segment, at))
            for layer, own in enumerate(of_layers):
                for side in SIDES:
                    heads = 4 // own[side].shape[0]
                    kept[layer][side].append(np.repeat(own[side][:, at].numpy(), heads, axis=0))
    return [{side: np.stack(own[side]) for side in SIDES} for own in kept], places


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_directions_are_those_of_scikit_learn(family, path):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    expected, places = listed(model, known)
    # The same tokens, whose hashes are the smallest of all.
    hashes = [
        int(
            row_hashes(
                np.array([segment_key(segment.document, segment.index, seed=0)]),
                np.array([[at]]),
                kind="encoder",
                layer=0,
                heads=1,
            )[0, 0, 0]
        )
        for segment, at in places
    ]
    chosen = np.argsort(np.array(hashes, dtype=np.uint64))[:DRAWN]
    # In float64 rows of padding are not a number in Llama, and left padding is refused.
    for size, tile_limit, side in ((5, 1 << 26, "right"), (1, 200, "left" if family == "bert" else "right")):
        sums = measured(model.double(), known, path=path, size=size, tile_limit=tile_limit, side=side)
        results = sums.compute()
        table, drawn = pca_table(results), map_table(results)
        check_table(PCA_TABLE, table)
        check_table(MAP, drawn)
        assert len(table) == 3 * 4 * 3 * (1 + MOST)
        told = table.set_index(["layer", "head", "vectors", "statistic"]).sort_index()
        on_map = drawn.set_index(["layer", "head", "vectors"]).sort_index()
        tokens = results[0].samples["row"]
        for token, segment, place in zip(tokens.tokens, tokens.segments, chosen, strict=True):
            assert (segment, int(token["position"])) == (
                (places[place][0].document, places[place][0].index),
                places[place][1],
            )
        for layer, by_side in enumerate(expected):
            for name, vectors in by_side.items():
                for head in range(4):
                    exact = PCA(svd_solver="full").fit(vectors[:, head])
                    place = (layer + 1, head + 1, name)
                    # Llama's eager attention has its softmax in float32 in a float64 model, too.
                    shares = [told.loc[(*place, f"share_{at}"), "value"] for at in range(1, MOST + 1)]
                    np.testing.assert_allclose(shares, exact.explained_variance_ratio_, atol=1e-7)
                    values = exact.explained_variance_
                    assert told.loc[(*place, EFFECTIVE), "value"] == pytest.approx(
                        values.sum() ** 2 / (values**2).sum(), rel=1e-7
                    )
                    assert (told.loc[place, "n_tokens"] == len(places)).all()
                    own = on_map.loc[place].sort_values("token")
                    points = exact.transform(vectors[chosen, head])
                    scale = np.abs(vectors[chosen, head]).max()
                    for at, column in enumerate(("first", "second")):
                        axis = exact.components_[at]
                        sign = np.sign(axis[np.abs(axis).argmax()])
                        # The vectors are kept in float16: 11 bits.
                        np.testing.assert_allclose(own[column], sign * points[:, at], atol=3e-3 * scale)
                    np.testing.assert_allclose(own["length"], np.linalg.norm(vectors[chosen, head], axis=1), rtol=1e-3)


def test_single_precision_is_near():
    model, known = tiny_model("bert"), vocabulary()
    single = pca_table(measured(model, known).compute())["value"]
    double = pca_table(measured(model.double(), known).compute())["value"]
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-6)


def test_across_attention_keys_are_those_of_the_text_that_is_read():
    model, known = tiny_model("t5"), vocabulary()
    results = {result.kind: result for result in measured(model, known).compute()}
    assert set(results) == {"encoder", "decoder", "cross"}
    cross = results["cross"]
    tokens = sum(
        int((known.of(segment.ids) != KeyClass.CLS).sum() - (known.of(segment.ids) == KeyClass.SEP).sum())
        for segment in SEGMENTS
    )
    assert cross.directions["key", 0].n == tokens
    assert (
        cross.directions["query", 0].n == cross.directions["output", 0].n == results["decoder"].directions["query", 0].n
    )
    assert set(cross.samples) == {"row", "key"}
    assert {len(own.tokens) for own in cross.samples.values()} == {DRAWN}
    assert set(results["encoder"].samples) == {"row"}
    # The same tokens of the text stand for the encoder's keys and for those across attention.
    assert cross.samples["key"].segments == results["encoder"].samples["row"].segments


def test_a_model_outside_the_interface_has_none():
    model, known = tiny_model("bloom"), vocabulary(has_cls=False)
    results = measured(model, known).compute()
    assert pca_table(results).empty
    assert map_table(results).empty


def test_the_words_around_a_token_are_kept_as_far_as_the_input_goes():
    sums = measured(tiny_model("bert"), vocabulary(), side="left")
    by_name = {(segment.document, segment.index): segment for segment in SEGMENTS}
    drawn = sums.compute()[0].samples["row"]
    for token, name in zip(drawn.tokens, drawn.segments, strict=True):
        ids, at = by_name[name].ids, int(token["position"])
        for apart, found in zip(range(-5, 6), token["ids"].tolist(), strict=True):
            inside = 0 <= at + apart < len(ids)
            assert found == (ids[at + apart] if inside else PADDING)


def test_directions_worked_by_hand():
    # Four points on the axes of a plane: variances 2 and 1/2, so 2.5^2 / 4.25 directions, about (3, 1).
    points = np.array([[5.0, 1.0], [1.0, 1.0], [3.0, 2.0], [3.0, 0.0]])
    moment = moment_of(torch.tensor(points)[None, None], torch.ones(1, 4, dtype=torch.bool))
    np.testing.assert_allclose(moment.products[0], [44.0, 12.0, 6.0])
    found = principal_directions(moment)
    np.testing.assert_allclose(found.mean[0], [3.0, 1.0])
    np.testing.assert_allclose(found.shares[0], [0.8, 0.2])
    np.testing.assert_allclose(found.effective, [2.5**2 / 4.25])
    np.testing.assert_allclose(found.directions[0], np.eye(2), atol=1e-12)
    there = found.coordinates(np.array([[[5.0, 0.0]]], dtype=np.float16))
    np.testing.assert_allclose(there, [[[2.0, -1.0]]])


def test_what_does_not_vary_has_no_directions():
    alike = torch.full((1, 2, 3, 4), 7.1)
    found = principal_directions(moment_of(alike, torch.ones(1, 3, dtype=torch.bool)))
    assert np.isnan(found.shares).all()
    assert np.isnan(found.effective).all()


def test_other_widths_are_not_merged():
    one, other = Moments(), Moments()
    one.add(("key", "encoder", 0), Moment(1, np.ones((2, 3)), np.ones((2, 6))))
    other.add(("key", "encoder", 0), Moment(1, np.ones((2, 4)), np.ones((2, 10))))
    with pytest.raises(ValueError, match=r"expected vectors \[2, 3\] by head and width, came \[2, 4\]"):
        one.merge(other)


@pytest.mark.parametrize(
    ("layers", "heads", "tokens", "measured"), [(2, 4, 100, 2), (12, 12, 85, 12), (24, 16, 32, 12), (32, 32, 24, 8)]
)
def test_what_is_held_stays_small_however_many_heads(layers, heads, tokens, measured):
    layout = (KindLayout("decoder", layers, heads),)
    assert tokens_for(layout) == tokens
    assert FEWEST_TOKENS <= tokens <= MOST_TOKENS
    width = 64
    apart = layers_apart(layout, "decoder", numbers_of(3 * heads, width))
    assert len(range(layers - 1, -1, -apart)) == measured
    moment = moment_of(torch.ones(1, heads, 2, width), torch.ones(1, 2, dtype=torch.bool))
    sums = moment.sums.nbytes + moment.products.nbytes
    assert sums == 8 * numbers_of(heads, width)
    assert 3 * measured * (sums + heads * tokens * width * 2) < 20e6


def test_kinds_share_what_may_be_held():
    layout = [KindLayout(kind, 24, 16) for kind in ("encoder", "decoder", "cross")]
    for kind in ("encoder", "decoder", "cross"):
        assert layers_apart(layout, kind, numbers_of(48, 64)) == 3
    # Wide heads: eight layers of each kind whatever they take.
    assert layers_apart(layout[1:2], "decoder", numbers_of(3 * 64, 128)) == 3


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_of_many_heads_some_layers_are_measured_as_they_would_be_among_all(family, monkeypatch):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    whole = measured(model, known).compute()
    monkeypatch.setattr(sample_sizes, "MOST_BYTES", 1)
    monkeypatch.setattr(sample_sizes, "FEWEST_LAYERS", 2)
    some = measured(model, known, tile_limit=200).compute()
    of_all, own = pca_table(whole), pca_table(some)
    assert sorted(set(of_all["layer"])) == [1, 2, 3]
    assert sorted(set(own["layer"])) == [1, 3]
    kept = of_all[of_all["layer"] != 2].reset_index(drop=True)
    assert own.drop(columns="value").equals(kept.drop(columns="value"))
    np.testing.assert_allclose(own["value"], kept["value"], rtol=1e-4, atol=1e-6)
    assert sorted(set(map_table(some)["layer"])) == [1, 3]
    layout = examine(model, known).layout
    assert list(_lacking(whole, layout)) == []
    kind = layout[0].kind
    assert list(_lacking(some, layout)) == [
        f"with this number of heads, only some layers were measured: 1, 3 of the 3 ({kind})"
    ]
