"""The learning rate, a step by hand, and a state that can be restored."""

import pytest
import torch
from torch import nn

from headscope_train.optimizer import load_state, make_optimizer, rate_at, state_tensors, take_step


def test_the_rate_rises_and_falls_in_lines():
    rates = [rate_at(step, steps=10, highest=1.0, warm_up=0.4) for step in range(10)]
    assert rates == pytest.approx([1 / 5, 2 / 5, 3 / 5, 4 / 5, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert [rate_at(step, steps=4, highest=2.0, warm_up=0.0) for step in range(4)] == [2.0, 1.5, 1.0, 0.5]
    assert rate_at(0, steps=1, highest=3.0, warm_up=0.1) == 3.0


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor([[1.0, -2.0]]))
        self.bias = nn.Parameter(torch.tensor([0.5]))
        self.register_buffer("kept", torch.tensor([7.0]))

    def forward(self, x):
        return (x * self.matrix).sum() + self.bias.sum()


def test_one_step_by_hand():
    model = Small()
    optimizer = make_optimizer(model)
    model(torch.tensor([[3.0, 4.0]])).backward()  # gradients 3, 4 and 1
    take_step(optimizer, rate=0.1)
    # The norm is sqrt(26); after clipping, the first step of Adam is the sign of the gradient, whatever its size.
    for parameter, start, decay in ((model.matrix, [1.0, -2.0], 0.01), (model.bias, [0.5], 0.0)):
        expected = [value * (1 - 0.1 * decay) - 0.1 for value in start]
        assert parameter.detach().flatten().tolist() == pytest.approx(expected, abs=1e-5)
    assert model.matrix.grad is None
    moments = optimizer.state[model.matrix]["exp_avg"].flatten() / (1 - 0.9)
    assert moments.tolist() == pytest.approx([3 / 26**0.5, 4 / 26**0.5], rel=1e-4)


def test_a_state_put_back_goes_on_to_the_same_weights():
    inputs = torch.randn(8, 1, 2, generator=torch.Generator().manual_seed(0))

    def steps(model, optimizer, part):
        for x in part:
            (model(x) ** 2).backward()
            take_step(optimizer, rate=0.05)

    whole = Small()
    optimizer = make_optimizer(whole)
    steps(whole, optimizer, inputs[:5])
    saved = {name: tensor.clone() for name, tensor in state_tensors(whole, optimizer).items()}
    steps(whole, optimizer, inputs[5:])
    other = Small()
    other.kept.zero_()
    other_optimizer = make_optimizer(other)
    load_state(other, other_optimizer, saved)
    steps(other, other_optimizer, inputs[5:])
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name
