"""Hooks are removed, and modes and implementations restored, also after an error."""

import pytest
import torch
from torch import nn

from headscope.models.temporary_changes import eager_evaluation, hooked
from support.tiny_models import tiny_model


def test_hooks_go_when_the_block_ends():
    parts, seen = [nn.Identity(), nn.Identity()], []
    with hooked(part.register_forward_hook(lambda *_: seen.append(1)) for part in parts):
        for part in parts:
            part(torch.zeros(1))
        assert len(seen) == 2
    parts[0](torch.zeros(1))
    assert len(seen) == 2


def test_they_go_after_an_error():
    part = nn.Identity()
    with pytest.raises(RuntimeError), hooked([part.register_forward_hook(lambda *_: None)]):
        raise RuntimeError
    assert not part._forward_hooks


def test_those_before_one_that_fails_go_too():
    part = nn.Identity()

    def handles():
        yield part.register_forward_hook(lambda *_: None)
        raise RuntimeError

    with pytest.raises(RuntimeError), hooked(handles()):
        pass
    assert not part._forward_hooks


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
