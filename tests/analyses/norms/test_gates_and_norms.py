"""What heads add behind gates and norms, over a whole text, against a plain loop over the model's own modules."""

import numpy as np
import pytest

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.sums import NormBehaviorAccumulator
from headscope.analyses.norms.compute import UNTRACED, NormAccumulator, norm_table, output_notes
from headscope.analyses.stats.sums import NormStatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.forward_inputs import model_inputs
from headscope.statistics.statistic_catalog import NAMES as STATISTICS
from support.benchmarks import benchmark
from support.stream_by_hand import additions


def model_of(family, *, double=False):
    bench = benchmark("families")
    model = bench.tiny_model(family)
    if double:
        model = model.double()
        model.set_experts_implementation("eager")  # the others know no double precision
    words = bench.vocabulary(model)
    return model, words, examine(model, words), bench.made_up(words)


def measured(family, *, size, tile_limit):
    model, words, anatomy, segments = model_of(family)
    batches = [segments[i : i + size] for i in range(0, len(segments), size)]
    sums = (
        NormAccumulator(anatomy.layout),
        NormStatsAccumulator(anatomy.layout),
        NormBehaviorAccumulator(anatomy.layout, np.zeros(256, dtype=np.uint8)),
    )
    scan(ModelSource(model, anatomy, words, batches, tile_limit=tile_limit), list(sums))
    return [each.compute() for each in sums]


def looped(family):
    """Means over inputs by layer and head; of behaviors over all rows at once."""
    model, words, anatomy, segments = model_of(family, double=True)
    found = {}
    for segment in segments:
        batch, inputs, _ = model_inputs([segment], anatomy, words)
        classes = batch.info.classes[0]
        for (_, layer), own in additions(model, anatomy.calls, inputs).items():
            streams = own.streams()
            if streams:
                stream, times = streams[0]
            for head, (weights, vectors) in enumerate(zip(own.weights, own.vectors, strict=True)):
                values = found.setdefault((layer + 1, head + 1), {})
                outputs, relative, previous = [], [], []
                rows = len(weights)
                lengths = np.zeros((rows, rows))
                for i in range(rows):
                    output = sum(weights[i, j] * vectors[i, j] for j in range(i + 1)) * times
                    outputs.append(float(output.norm()))
                    relative.append(outputs[-1] / float(stream[i].norm()))
                    lengths[i, : i + 1] = [float(times * vectors[i, j].norm()) for j in range(i + 1)]
                    shares = weights[i].numpy() * lengths[i]
                    previous.append(shares[i - 1] / shares.sum() if i else 0.0)
                values.setdefault("output_norm", []).append(np.mean(outputs))
                values.setdefault("output_norm_in_stream", []).append(np.mean(relative))
                values.setdefault("stats", []).append(np.mean(previous))
                values.setdefault("behavior", []).extend(previous[1:])
                for kind in KeyClass:
                    keys = [j for j in range(rows) if classes[j] == kind]
                    if keys:
                        of_key = [lengths[weights[:, j].numpy() > 0, j].mean() for j in keys]  # the rows that see it
                        values.setdefault(("value_norm", kind.name.lower()), []).append(np.mean(of_key))
    return {place: {name: np.mean(each) for name, each in values.items()} for place, values in found.items()}


@pytest.mark.parametrize("family", ["gemma2", "afmoe", "laguna"])
def test_every_number_is_that_of_a_plain_loop(family):
    expected = looped(family)
    for size, tile_limit in ((3, 1 << 26), (6, 2000)):
        norms, stats, behaviors = measured(family, size=size, tile_limit=tile_limit)
        table = norm_table(norms)
        table = table[table["head"].notna()]
        checked = 0
        for (layer, head), own in expected.items():
            here = table[(table["layer"] == layer) & (table["head"] == head)]
            of_layer = np.mean([v["output_norm"] for (other, _), v in expected.items() if other == layer])
            for row in here.itertuples():
                if row.statistic == "value_norm":
                    value = own.get((row.statistic, row.key_class), np.nan)
                elif row.statistic == "output_norm_in_layer":
                    value = own["output_norm"] / of_layer
                else:
                    value = own[row.statistic]
                np.testing.assert_allclose(row.value, value, rtol=1e-4)
                checked += value == value
            by_norm = stats[1].heads.value[layer - 1, head - 1, STATISTICS.index("previous")]
            np.testing.assert_allclose(by_norm, own["stats"], rtol=1e-4)
            by_norm = behaviors[1].heads.value[layer - 1, head - 1, NAMES.index("previous")]
            np.testing.assert_allclose(by_norm, own["behavior"], rtol=1e-4)
        assert checked == len(expected) * 5


def test_what_is_not_traced_to_the_stream_is_not_compared_with_it():
    norms, _, _ = measured("zamba", size=3, tile_limit=1 << 26)
    table = norm_table(norms)
    assert table[table["statistic"] == "output_norm_in_stream"]["value"].isna().all()
    assert table[table["statistic"] == "output_norm_in_layer"]["value"].notna().any()
    assert list(output_notes(norms)) == [UNTRACED.format(layers="every layer", kind="decoder")]
