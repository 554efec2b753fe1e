"""Rows counted in bins, against a plain loop over rows and keys with transformers' own attention in float64."""

from copy import deepcopy

import numpy as np
import pytest

from headscope.analyses.distribution.compute import distribution_table
from headscope.analyses.distribution.sums import FEWEST_GROUPS, MOST_GROUPS, DistributionAccumulator, groups_for
from headscope.analyses.distribution.tables import BINS, MEASURES, NAMES
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from support.hand_made import HandMadeSource, beside_a_sink, random_sink
from support.inputs import made_up_segments, vocabulary
from support.listened import listened, output_projections
from support.tiny_models import tiny_model

SEGMENTS = made_up_segments(14, seed=13, longest=12)
SPECIAL = (KeyClass.CLS, KeyClass.SEP)


def measured(model, known, *, path=None, size=5, tile_limit=1 << 26):
    anatomy = examine(model, known, path=path)
    batches = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
    source = ModelSource(model, anatomy, known, batches, tile_limit=tile_limit)
    sums = DistributionAccumulator(anatomy.layout)
    scan(source, [sums])
    return sums


def looped(model, known, projections):
    """Every measure of every row: layer, head -> name -> values."""
    exact = deepcopy(model).double()
    found = {}
    for info, calls in listened(exact, SEGMENTS, known):
        classes = info.classes[0].tolist()
        for layer, (weights, value) in enumerate(calls):
            heads, rows, keys = weights.shape
            matrix = projections[layer].weight.detach().double().T
            width = value.shape[-1]
            for head in range(heads):
                own = matrix[head * width : (head + 1) * width]
                place = found.setdefault((layer, head), {name: [] for name in NAMES})
                for row in range(rows):
                    if classes[row] in SPECIAL:
                        continue
                    line = weights[head, row].tolist()
                    total = sum(line[key] * (value[head * value.shape[0] // heads, key] @ own) for key in range(keys))
                    place["output_norm"].append(float(total.norm()))
                    place["non_sink"].append(sum(w for w, c in zip(line, classes) if c not in SPECIAL))
                    place["entropy"].append(-sum(w * np.log(w) for w in line if w > 0))
                    place["distance"].append(sum(w * abs(key - row) for key, w in enumerate(line)))
    return found


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_every_count_is_that_of_a_plain_loop(family, path):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    expected = looped(model, known, output_projections(model, family))
    for size, tile_limit in ((5, 1 << 26), (1, 200)):
        sums = measured(model, known, path=path, size=size, tile_limit=tile_limit)
        (result,) = sums.compute()
        counts = result.counts.sum(0)
        table = distribution_table([result]).set_index(["layer", "head", "measure", "decile"])
        for (layer, head), values in expected.items():
            for place, (name, measure) in enumerate(MEASURES.items()):
                edges = measure.edges.copy()
                edges[-1] = np.inf
                own = np.histogram(values[name], edges)[0]
                in_bins = counts[layer, head, place]
                np.testing.assert_array_equal(in_bins[: len(own)], own, err_msg=f"{name} {layer} {head}")
                assert in_bins.sum() == len(values[name])
                exact = np.quantile(values[name], np.arange(1, 10) / 10)
                cells = table.loc[[(layer + 1, head + 1, name, decile) for decile in range(1, 10)]]
                assert (cells["ci_low"] <= exact + 1e-6).all()
                assert (exact - 1e-6 <= cells["ci_high"]).all()
                for decile in range(1, 10):
                    cell = table.loc[(layer + 1, head + 1, name, decile)]
                    assert cell["n_rows"] == len(values[name])
                    assert cell["ci_low"] <= cell["value"] <= cell["ci_high"]
                    ends = [np.quantile(values[name], decile / 10, method=w) for w in ("lower", "higher")]
                    at = np.searchsorted(measure.edges, ends, side="right")
                    assert measure.edges[at[0] - 1] <= cell["value"] <= measure.edges[at[1]]


def test_a_model_outside_the_interface_has_all_but_what_it_writes():
    model, known = tiny_model("bloom"), vocabulary(has_cls=False)
    table = distribution_table(measured(model, known).compute())
    written = table["measure"] == "output_norm"
    assert table.loc[written, "value"].isna().all()
    assert (table.loc[written, "n_rows"] == 0).all()
    assert table.loc[~written, "value"].notna().all()


def test_across_attention_there_is_no_distance():
    model, known = tiny_model("t5"), vocabulary()
    table = distribution_table(measured(model, known).compute())
    apart = table[table["measure"] == "distance"].set_index("kind")["n_rows"]
    assert (apart["cross"] == 0).all()
    assert (apart["encoder"] > 0).all()
    assert (table[(table["kind"] == "cross") & (table["measure"] == "output_norm")]["n_rows"] > 0).all()


def test_what_a_learned_sink_takes_is_off_the_content():
    source = HandMadeSource(SEGMENTS, beside_a_sink, sink=random_sink)
    sums = DistributionAccumulator(source.layout)
    scan(source, [sums])
    known = vocabulary()
    shares = [
        beside_a_sink(segment)[1, 2, row][known.of(segment.ids) != KeyClass.CLS][:-1].sum()
        - sum(
            beside_a_sink(segment)[1, 2, row][key]
            for key in range(1, len(segment) - 1)
            if known.of(segment.ids)[key] in SPECIAL
        )
        for segment in SEGMENTS
        for row in range(len(segment))
        if known.of(segment.ids)[row] not in SPECIAL
    ]
    expected = np.histogram(shares, MEASURES["non_sink"].edges)[0]
    counts = sums.compute()[0].counts.sum(0)[1, 2, NAMES.index("non_sink")]
    np.testing.assert_array_equal(counts[: len(expected)], expected)


@pytest.mark.parametrize(("layers", "heads", "groups"), [(2, 4, 32), (12, 12, 28), (24, 16, 10), (32, 32, 8)])
def test_counts_stay_small_however_many_heads(layers, heads, groups):
    layout = (KindLayout("decoder", layers, heads),)
    assert groups_for(layout) == groups
    assert FEWEST_GROUPS <= groups <= MOST_GROUPS
    sums = DistributionAccumulator(layout)
    (kept,) = sums.sums.shapes.values()
    assert kept == (layers, heads, len(NAMES), BINS)
    assert groups * 4 * np.prod(kept) < 17 * 2**20
