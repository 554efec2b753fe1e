"""LoRA adapters added to their model, against the formula and worked cases."""

import json

import pytest
import safetensors.torch
import torch
from torch import nn

from headscope.errors import ModelError
from headscope.models.lora import add_lora, is_adapter


class Net(nn.Module):
    base_model_prefix = "net"

    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList([nn.Linear(3, 4)])


def write(folder, weights, **config):
    folder.mkdir()
    config = {"peft_type": "LORA", "lora_alpha": 6, **config}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    named = {f"base_model.model.{name}": each.contiguous() for name, each in weights.items()}
    safetensors.torch.save_file(named, folder / "adapter_model.safetensors")
    return folder


A, B = torch.tensor([[1.0, 2, 3], [0, 1, 0]]), torch.arange(8.0).reshape(4, 2)
PLAIN = {"layer.0.lora_A.weight": A, "layer.0.lora_B.weight": B}


def test_a_hand_made_adapter_is_added(tmp_path):
    cases = [
        (PLAIN, {}, 3 * B @ A),
        (PLAIN, {"use_rslora": True}, 6 / 2**0.5 * B @ A),
        (PLAIN, {"alpha_pattern": {"layer.0": 2}}, B @ A),
        (PLAIN, {"alpha_pattern": {"ayer.0": 2}}, 3 * B @ A),
        ({f"net.{name}": each for name, each in PLAIN.items()}, {}, 3 * B @ A),
        ({**PLAIN, "classifier.weight": torch.ones(2, 3)}, {}, 3 * B @ A),
        (
            {"layer.0.lora_A.weight": torch.ones(1, 4), "layer.0.lora_B.weight": torch.ones(3, 1)},
            {"fan_in_fan_out": True},
            torch.full((4, 3), 6.0),
        ),
    ]
    for number, (weights, config, expected) in enumerate(cases):
        folder, net = write(tmp_path / str(number), weights, **config), Net()
        assert is_adapter(folder)
        before = net.layer[0].weight.detach().clone()
        add_lora(net, folder)
        torch.testing.assert_close(net.layer[0].weight - before, expected, msg=f"case {number}")


def test_what_is_not_plain_lora_is_refused(tmp_path):
    half = {"layer.0.lora_B.weight": B}
    cases = [
        (PLAIN, {"use_dora": True}, "is an adapter of type DORA; expected LORA: merge it"),
        (PLAIN, {"peft_type": "IA3"}, "is an adapter of type IA3; expected LORA: merge it"),
        ({"classifier.weight": torch.ones(2, 3)}, {}, "holds no LoRA weights"),
        ({**PLAIN, "layer.0.bias": torch.ones(4)}, {}, "changes layer.0.bias, besides LoRA; merge it"),
        ({"layer.7.lora_A.weight": A, "layer.7.lora_B.weight": B}, {}, "adapts layer.7, which Net lacks; give"),
        (half, {}, "adapts layer.0, which Net lacks; give"),
        ({**PLAIN, "layer.0.lora_B.weight": B[:3]}, {}, r"adapts layer.0 by \(3, 3\) numbers, and the model's weight"),
    ]
    for number, (weights, config, message) in enumerate(cases):
        folder = write(tmp_path / str(number), weights, **config)
        with pytest.raises(ModelError, match=message):
            add_lora(Net(), folder)


def test_a_cut_file_of_weights_is_refused(tmp_path):
    folder = write(tmp_path / "cut", PLAIN)
    file = folder / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ModelError, match="is cut off or no safetensors file"):
        add_lora(Net(), folder)
