"""What heads write over a whole text, against a plain loop over heads, rows and keys with the model's own weights."""

import numpy as np
import pytest
import torch

from headscope.analyses.norms.compute import UNKNOWN, NormAccumulator, norm_table
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from support.inputs import made_up_segments, vocabulary
from support.listened import listened, output_projections
from support.tiny_models import tiny_model

SEGMENTS = made_up_segments(14, seed=11, longest=12)


def measured(model, known, *, path=None, size=5, tile_limit=1 << 26):
    anatomy = examine(model, known, path=path)
    batches = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
    source = ModelSource(model, anatomy, known, batches, tile_limit=tile_limit)
    sums = NormAccumulator(anatomy.layout)
    scan(source, [sums])
    return norm_table(sums.compute())


def looped(model, known, projections, blocks):
    """Every number of the table, segment by segment, head by head, row by row, key by key."""
    found, streams = {}, {}  # of a segment, what each layer reads
    hooks = [
        block.register_forward_pre_hook(
            lambda part, given, named, at=at: streams.__setitem__(
                at, (given[0] if given else named["hidden_states"]).detach()
            ),
            with_kwargs=True,
        )
        for at, block in enumerate(blocks)
    ]
    for info, calls in listened(model, SEGMENTS, known):
        for layer, (weights, value) in enumerate(calls):
            heads, rows, keys = weights.shape
            matrix = projections[layer].weight.detach().double().T
            width = value.shape[-1]
            for head in range(heads):
                own = matrix[head * width : (head + 1) * width]
                written = [value[head * value.shape[0] // heads, key] @ own for key in range(keys)]
                outputs, relative = [], []
                for row in range(rows):
                    total = sum(weights[head, row, key] * written[key] for key in range(keys))
                    outputs.append(float(total.norm()))
                    relative.append(outputs[-1] / float(streams[layer][0, row].double().norm()))
                place = found.setdefault((layer + 1, head + 1), {})
                place.setdefault("output_norm", []).append(np.mean(outputs))
                place.setdefault("output_norm_in_stream", []).append(np.mean(relative))
                for kind in KeyClass:
                    lengths = [float(written[key].norm()) for key in range(keys) if info.classes[0, key] == kind]
                    if lengths:
                        place.setdefault(kind.name.lower(), []).append(np.mean(lengths))
    for hook in hooks:
        hook.remove()
    return {place: {name: np.mean(each) for name, each in own.items()} for place, own in found.items()}


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_every_number_is_that_of_a_plain_loop(family, path):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    blocks = model.encoder.layer if family == "bert" else model.layers
    expected = looped(model, known, output_projections(model, family), blocks)
    for size, tile_limit in ((5, 1 << 26), (1, 200)):
        table = measured(model, known, path=path, size=size, tile_limit=tile_limit)
        heads = table[table["head"].notna()]
        checked = 0
        for row in heads.itertuples():
            own = expected[row.layer, row.head]
            if row.statistic == "output_norm_in_layer":
                mean = np.mean([each["output_norm"] for place, each in expected.items() if place[0] == row.layer])
                want = own["output_norm"] / mean
            else:
                want = own.get(row.key_class if isinstance(row.key_class, str) else row.statistic, np.nan)
            np.testing.assert_allclose(row.value, want, rtol=1e-5, err_msg=str(row))
            checked += row.value == row.value
        assert checked > 3 * len(expected)
        means = table[table["head"].isna() & (table["statistic"] == "output_norm")]
        for row in means.itertuples():
            mean = np.mean([each["output_norm"] for place, each in expected.items() if place[0] == row.layer])
            np.testing.assert_allclose(row.value, mean, rtol=1e-5)


def test_a_model_outside_the_interface_has_no_numbers_and_says_so():
    model, known = tiny_model("bloom"), vocabulary(has_cls=False)
    table = measured(model, known)
    assert table["value"].isna().all()
    assert (table["n_inputs"] == 0).all()
    assert UNKNOWN.format(layers="any layer", kind="decoder").startswith("output norms are not measured in any")


def test_a_head_whose_values_are_zero_is_inactive():
    model, known = tiny_model("bert"), vocabulary()
    attention = model.encoder.layer[1].attention
    width = attention.self.attention_head_size
    with torch.no_grad():  # the second head of the second layer: its rows of the output projection, nearly nothing
        attention.output.dense.weight[:, width : 2 * width] *= 1e-3
    table = measured(model, known)
    own = table[(table["statistic"] == "output_norm_in_layer") & (table["layer"] == 2)].set_index("head")
    assert own.loc[2, "ci_high"] < 0.25
    assert (own.drop(2)["ci_low"] > 0.25).all()
