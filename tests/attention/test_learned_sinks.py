"""Learned sinks: a key without a token, on every path, against the model's own eager attention and a plain loop."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.analyses.stats.compute import stats_table
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.tap import Tap, attended
from headscope.attention.model.trial_batch import TrialBatch
from headscope.attention.row_quantities import RowQuantity
from headscope.attention.scan import scan
from headscope.errors import ModelError, OptionError
from headscope.maps.index import MapsIndex, maps_folder
from headscope.maps.maps_source import MapsSource
from headscope.maps.pickle_conversion import maps_to_pickle
from headscope.maps.writer import MapsWriter
from support.inputs import PAD, eager_maps, made_up_segments, vocabulary
from support.kept_tiles import KeptTiles
from support.tiny_models import VOCABULARY, shared_tiny_model

_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "vocab_size": VOCABULARY,
    "pad_token_id": PAD,
    "initializer_range": 0.15,
}
_WINDOW = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
_EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
CONFIGS = {
    "gpt_oss": lambda: tf.GptOssConfig(**_SIZES, **_WINDOW, **_EXPERTS, rope_parameters={"rope_type": "default"}),
    "granite_swa": lambda: tf.GraniteSWAConfig(**_SIZES, **_WINDOW),
    "mimo_v2_flash": lambda: tf.MiMoV2FlashConfig(
        **_SIZES, **_WINDOW, v_head_dim=8, moe_intermediate_size=16, n_routed_experts=2, num_experts_per_tok=1
    ),
}  # fmt: skip
SINKS = torch.tensor([3.0, -1.0, 0.5, 6.0])
"""A logit a head: the last takes nearly all of a row."""
EXACT = {"gpt_oss": 1e-12, "mimo_v2_flash": 1e-12, "granite_swa": 1e-6}
"""How near numbers are: Granite computes its softmax in float32 whatever the model is in."""


def model_with_sinks(family):
    torch.manual_seed(3)
    dtype = torch.float32 if family == "granite_swa" else torch.float64
    model = tf.AutoModel.from_config(CONFIGS[family](), experts_implementation="eager").eval().to(dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.copy_(SINKS)
    return model


def read(model, segments, *, path, side="right", needs=frozenset({"weights", "statistics"})):
    words = vocabulary(has_cls=False)
    anatomy = examine(model, words, path=path)
    keep = KeptTiles()
    ModelSource(model, anatomy, words, [segments], padding_side=side, tile_limit=400).run(keep, needs)
    return anatomy, keep.tiles


def rows_by_hand(model, segment):
    """Each row of each call, softmax in a loop: {(layer, head, row): (weights of the tokens, of the sink)}."""
    out = {}

    def listen(call):
        layer = call.order
        keys = call.key[0].repeat_interleave(call.query.shape[1] // call.key.shape[1], 0)
        scores = np.array(call.query[0] @ keys.transpose(1, 2))
        for head, row in np.ndindex(scores.shape[:2]):
            seen = [key for key in range(scores.shape[2]) if call.mask is None or call.mask[0, 0, row, key] == 0]
            logits = [call.options["scaling"] * scores[head, row, key] for key in seen]
            sink = call.module.sinks
            extra = [] if sink is None else [float(sink[head])]
            most = max(logits + extra)
            total = sum(math.exp(s - most) for s in logits + extra)
            weights = np.zeros(scores.shape[2])
            weights[seen] = [math.exp(s - most) / total for s in logits]
            out[layer, head, row] = weights, *(math.exp(s - most) / total for s in extra)
        return call.eager()[0]

    ids = torch.from_numpy(segment.ids)[None]
    with Tap(model, listen), torch.inference_mode():
        model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    return out


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("family", CONFIGS)
def test_weights_and_statistics_are_those_of_a_plain_loop(family, path):
    model, segments = model_with_sinks(family), made_up_segments(5, seed=2, longest=13)
    known = vocabulary(has_cls=False)
    anatomy, tiles = read(model, segments, path=path)
    atol = EXACT[family]
    with_sink = (0,) if family == "mimo_v2_flash" else (0, 1)  # MiMo's full layers have none
    assert anatomy.path == path
    assert anatomy.layout[0].sinks == with_sink
    found = defaultdict(int)
    for item, segment in enumerate(segments):
        classes = known.of(segment.ids, decoder=True)
        for (layer, head, row), (weights, *sink) in rows_by_hand(model, segment).items():
            (tile,) = [each for each in tiles if each.layer == layer and each.rows.start <= row < each.rows.stop]
            n, at = len(segment), row - tile.start
            np.testing.assert_allclose(tile.weights[item, head, at, :n], weights, atol=atol)
            numbers = tile.statistics[item, head, at].numpy()
            every = [*weights, *sink]
            assert sum(every) == pytest.approx(1)
            expected = {
                RowQuantity.SINK_LOGIT: sink[0] if sink else 0.0,
                RowQuantity.ENTROPY: -sum(w * math.log(w) for w in every if w > 0),
                RowQuantity.MAX_WEIGHT: max(every),
                RowQuantity.CURRENT: weights[row],
                RowQuantity.PREVIOUS: weights[row - 1] if row else 0.0,
                RowQuantity.PERIOD_COMMA: weights[classes == 3].sum(),
            }
            for quantity, number in expected.items():
                assert numbers[quantity] == pytest.approx(number, abs=5 * atol), (quantity, layer, head, row)
            even = tile.visibility.uniform[item, 0, at]
            keys = int((weights > 0).sum()) + len(sink)
            assert float(even[RowQuantity.ENTROPY]) == pytest.approx(math.log(keys))
            assert float(even[RowQuantity.SINK_LOGIT]) == pytest.approx(len(sink) / keys)
            if sink:
                assert float(tile.sink[item, head, at]) == pytest.approx(sink[0], abs=atol)
                found[round(sink[0], 1)] += 1
            else:
                assert tile.sink is None
    assert len(found) > 5, "the sinks are meant to take all kinds of shares"


@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_paths_agree_whatever_is_asked_for(family, side):
    model, segments = model_with_sinks(family), made_up_segments(6, seed=5, longest=15)
    kept = [
        read(model, segments, path=path, side=side, needs=needs)[1]
        for path, needs in (
            ("eager", {"weights", "statistics"}),
            ("fused", {"weights", "statistics"}),
            ("fused", {"weights"}),
            ("fused", {"statistics"}),
        )
    ]
    for tiles in kept[1:]:
        whole = {layer: _joined(tiles, layer) for layer in (0, 1)}
        for layer, (weights, statistics, sink) in whole.items():
            valid = kept[0][0].queries.valid
            exact = _joined(kept[0], layer)
            for ours, own in zip((weights, statistics, sink), exact, strict=True):
                if ours is not None and own is not None:
                    rows = valid[:, None].expand(ours.shape[:3])
                    torch.testing.assert_close(ours[rows], own[rows], atol=5 * EXACT[family], rtol=0)
            assert (sink is None) == (exact[2] is None)


def _joined(tiles, layer):
    own = [tile for tile in tiles if tile.layer == layer]
    parts = ([tile.given_weights for tile in own], [tile.given_statistics for tile in own], [tile.sink for tile in own])
    return [None if each[0] is None else torch.cat(each, dim=2) for each in parts]


def test_weights_are_those_that_the_model_gives():
    model, segments = model_with_sinks("gpt_oss"), made_up_segments(1)
    ids = torch.from_numpy(segments[0].ids)[None]
    own = eager_maps(model, input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)["self"]
    for path in ("fused", "eager", "fallback"):
        anatomy, tiles = read(model, segments, path=path)
        assert anatomy.layout[0].sinks == (0, 1)
        for layer in range(2):
            weights, _, sink = _joined(tiles, layer)
            torch.testing.assert_close(weights, own[layer], atol=1e-12, rtol=0)
            torch.testing.assert_close(weights.sum(-1) + sink, torch.ones_like(sink), atol=1e-12, rtol=0)
            assert sink.max() > 0.9


def test_granites_output_is_what_is_read_times_the_values():
    """It scales its output for the sink, and returns weights that sum to 1: those are not what it attends with."""
    model = model_with_sinks("granite_swa")
    seen = []

    def listen(call):
        own = attended(call)
        output, weights = call.eager()
        values = call.value.repeat_interleave(2, dim=1)
        torch.testing.assert_close((own.weights @ values).transpose(1, 2), output, atol=1e-6, rtol=0)
        torch.testing.assert_close(own.output, output, atol=1e-6, rtol=0)
        torch.testing.assert_close(own.weights.sum(-1) + own.sink, torch.ones_like(own.sink))
        seen.append(float((weights - own.weights).abs().max()))
        return output

    with Tap(model, listen), torch.inference_mode():
        model(input_ids=torch.arange(2, 12)[None], use_cache=False)
    assert min(seen) > 0.5


@pytest.mark.parametrize("family", CONFIGS)
def test_the_self_test_lets_the_fused_path_serve_them(family):
    torch.manual_seed(0)
    config = CONFIGS[family]()
    config.initializer_range = 0.02
    model = tf.AutoModel.from_config(config).eval()
    assert examine(model, vocabulary(has_cls=False)).path == "fused"
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.fill_(-torch.inf)  # one that is switched off takes nothing
    _, tiles = read(model, made_up_segments(2), path="fused")
    for tile in tiles:
        assert torch.isfinite(tile.statistics).all()
        assert tile.sink is None or float(tile.sink.max()) < 1e-30


def test_rows_that_sum_to_less_without_a_sink_are_refused():
    model, known = shared_tiny_model("bert"), vocabulary()
    trial = TrialBatch(model, examine(model, known), known, vocabulary_size=VOCABULARY)
    whole = trial.weights
    trial.weights = lambda inputs: {kind: [0.5 * own for own in layers] for kind, layers in whole(inputs).items()}
    with pytest.raises(ModelError) as refused:
        trial.eager_weights()
    assert str(refused.value).startswith(
        "BertModel's rows of attention sum to 0.50 to 0.50, not to 1, and the model hands no learned sink to its "
        "attention function that takes the rest, so that shares and entropies would mean something else: choose another"
    )


@pytest.mark.parametrize("store", ["float32", "float16"])
@pytest.mark.parametrize("family", ["gpt_oss", "mimo_v2_flash"])
def test_saved_maps_keep_the_sink(family, store, tmp_path):
    model, segments, words = model_with_sinks(family), made_up_segments(5, seed=4), vocabulary(has_cls=False)
    anatomy = examine(model, words)
    index = MapsIndex(
        model={"name": "tiny"}, special={"cls": None, "sep": None}, layout=anatomy.layout, signature={},
        store=store, word_level=None,
    )  # fmt: skip
    sums = StatsAccumulator(anatomy.layout)
    with maps_folder(tmp_path / "maps", index) as folder:
        writer = MapsWriter(folder, names=lambda ids: [f"t{i}" for i in ids])
        source = ModelSource(model, anatomy, words, [list(folder.in_order(segments))])
        scan(source, [writer, sums])
    saved = MapsSource(tmp_path / "maps")
    assert saved.layout[0].sinks == anatomy.layout[0].sinks
    again = StatsAccumulator(saved.layout)
    scan(saved, [again])
    before, after = (stats_table(each.compute()) for each in (sums, again))
    for name in ("value", "uniform"):
        np.testing.assert_allclose(after[name], before[name], atol=1e-6 if store == "float32" else 2e-3)
    assert after["n_inputs"].tolist() == before["n_inputs"].tolist()
    with pytest.raises(OptionError, match="holds attention beside a learned sink, and the original's pickle has no"):
        maps_to_pickle(tmp_path / "maps", tmp_path / "maps.pkl")


def test_layers_without_a_sink_have_none_in_the_table():
    model, words = model_with_sinks("mimo_v2_flash"), vocabulary(has_cls=False)
    anatomy = examine(model, words)
    sums = StatsAccumulator(anatomy.layout)
    scan(ModelSource(model, anatomy, words, [made_up_segments(12, longest=9)]), [sums])
    own = stats_table(sums.compute()).set_index(["layer", "statistic"])
    with_sink, without = (own.loc[(layer, "sink_logit"), ["value", "uniform", "n_inputs"]] for layer in (1, 2))
    assert with_sink.notna().all(axis=None)
    assert with_sink["value"].max() > 0.8
    assert without[["value", "uniform"]].isna().all(axis=None)
    assert (without["n_inputs"] == 0).all()
