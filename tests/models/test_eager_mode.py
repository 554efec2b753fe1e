"""Switching a model's attention implementation reaches every part of it, and is undone afterwards."""

import torch

from headscope.models.temporary_changes import eager_evaluation
from support.tiny_models import tiny_model


def test_stacks_that_transformers_leaves_on_sdpa_are_switched(monkeypatch):
    """In transformers 5.17 `set_attn_implementation` changed a T5 model's own configuration and not its stacks'."""
    model = tiny_model("t5")
    model.set_attn_implementation("sdpa")

    def own_configuration_alone(self, name):
        self.config._attn_implementation_internal = name

    monkeypatch.setattr(type(model), "set_attn_implementation", own_configuration_alone)
    with eager_evaluation(model), torch.inference_mode():
        tokens = torch.arange(5)[None]
        output = model(input_ids=tokens, decoder_input_ids=tokens, output_attentions=True)
    assert len(output.encoder_attentions) == 2
    assert len(output.decoder_attentions) == len(output.cross_attentions) == 3
    assert {part.config._attn_implementation_internal for part in (model, model.encoder, model.decoder)} == {"sdpa"}
