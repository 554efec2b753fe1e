"""What each layer reads, against the hidden states that transformers gives out."""

import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.attention.model.projections import StreamNorms
from headscope.attention.model.tap import Tap
from support.inputs import vocabulary
from support.tiny_models import CONFIGS, PATHS, shared_tiny_model

TAPPED = sorted(family for family in CONFIGS if PATHS.get(family) != "fallback")


@pytest.mark.parametrize("family", TAPPED)
def test_a_layer_reads_the_hidden_states_before_it(family):
    model = shared_tiny_model(family)
    anatomy = examine(model, vocabulary())
    if anatomy.path == "fallback":
        pytest.skip(f"{family} is read from what it gives out")
    ids = torch.randint(5, 40, (2, 6), generator=torch.Generator().manual_seed(3))
    inputs = {"input_ids": ids}
    if anatomy.encoder_decoder:
        inputs["decoder_input_ids"] = ids.flip(1)[:, :4]
    streams, seen = StreamNorms(model), {}

    def listen(call):
        site = anatomy.calls[call.order]
        seen[site.kind, site.layer] = streams.of(call.module)
        return call.eager()[0]

    with Tap(model, listen), streams.listening(), torch.inference_mode():
        out = model(**inputs, output_hidden_states=True, return_dict=True)
    for part in anatomy.layout:
        if part.kind == "cross":  # what it reads is inside a layer, where no hidden states are given out
            assert all(seen["cross", layer] is not None for layer in range(part.layers))
            continue
        name = "hidden_states"
        if anatomy.encoder_decoder:
            name = f"{part.kind}_hidden_states"
        for layer in range(part.layers):
            torch.testing.assert_close(seen[part.kind, layer], out[name][layer].norm(dim=-1))
    assert streams.of(next(iter(model.modules()))) is None
    assert not streams._vectors
