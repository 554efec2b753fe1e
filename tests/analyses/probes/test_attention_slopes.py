"""Gradient and curvature of the probe over attention alone, against torch's own derivatives."""

import pytest
import torch

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe
from headscope.analyses.probes.parsers.newton import attention_slopes, flat_weights, set_weights
from support.probe_data import made_up_tables, made_up_trees, on_disk, probe_data


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    sentences = made_up_trees(7)
    tables = made_up_tables(sentences, planted=0.4)
    data = probe_data(sentences, on_disk(tmp_path_factory.mktemp("maps") / "maps", tables))
    return data.batch(data.numbers)


def made(special):
    probe = AttentionProbe((0, 1, 0), 3, special=special, seeds=(0, 1, 2))
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    return probe


MINE = torch.tensor([[True] * 7, [True, False] * 3 + [True], [False] * 3 + [True] * 4])


@pytest.mark.parametrize("special", [True, False])
def test_loss_and_gradient_are_torchs(special, batch):
    probe = made(special)
    judged = probe.judge(batch)
    (judged.loss * MINE).sum().backward()
    root = probe.root.share.grad if special else probe.root.constant.grad[:, None]
    wanted = torch.cat([probe.weights.grad.flatten(1), root], dim=1)
    found = attention_slopes(probe, batch, MINE)
    torch.testing.assert_close(found.gradient, wanted.double(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.loss, (judged.loss.detach() * MINE).sum(1).double(), rtol=1e-5, atol=1e-5)
    assert found.words.tolist() == (judged.counts * MINE).sum(1).tolist()


def whole(slopes):
    assert (torch.linalg.eigvalsh(slopes.curvature) > -1e-4).all()
    return slopes.curvature + slopes.coupling


@pytest.mark.slow
@pytest.mark.parametrize("special", [True, False])
def test_the_curvature_is_the_second_derivative_and_so_is_its_mean_over_draws(special, batch):
    probe = made(special)
    heads = probe.weights[0].numel()
    name = "root.share" if special else "root.constant"

    def loss(flat, run):
        others = {key: value.detach().clone() for key, value in probe.named_parameters()}
        place = torch.arange(3) == run
        others["weights"] = torch.where(place[:, None, None], flat[:heads].view(1, 2, -1), others["weights"])
        line = place[:, None] if special else place
        others[name] = torch.where(line, flat[heads:], others[name])
        given = {f"probe.{key}": value for key, value in others.items()}
        scores = torch.func.functional_call(Scores(probe), given, (batch,))
        return -(scores[run] * MINE[run, :, None]).sum()

    exact = whole(attention_slopes(probe, batch, MINE))
    generator = torch.Generator().manual_seed(4)
    draws = [torch.rand(batch.words.shape, generator=generator) for _ in range(1500)]
    mean = sum(whole(attention_slopes(probe, batch, MINE, drawn=drawn)) for drawn in draws) / len(draws)
    for run in range(3):
        wanted = torch.func.hessian(lambda flat, run=run: loss(flat, run))(flat_weights(probe)[run].float())
        torch.testing.assert_close(exact[run].float(), wanted, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(mean[run].float(), wanted, rtol=0.1, atol=0.05 * float(wanted.abs().max()))


class Scores(torch.nn.Module):
    """The log-probability of each word's right head, `[run, batch, word]`, 0 for padding."""

    def __init__(self, probe):
        super().__init__()
        self.probe = probe

    def forward(self, batch):
        targets = batch.targets[list(self.probe.tasks)].clamp(min=0)[..., None]
        found = self.probe.scores(batch).gather(3, targets)[..., 0]
        return torch.where(batch.valid, found, 0.0)


@pytest.mark.parametrize("special", [True, False])
def test_weights_in_a_line_and_back(special):
    probe = made(special)
    flat = flat_weights(probe)
    assert flat.shape == (3, 6 + (2 if special else 1))
    before = [each.detach().clone() for each in probe.parameters()]
    set_weights(probe, torch.zeros_like(flat))
    assert all((each == 0).all() for each in probe.parameters())
    set_weights(probe, flat)
    assert all(torch.equal(*pair) for pair in zip(probe.parameters(), before))
