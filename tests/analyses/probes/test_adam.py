"""Adam with a rate a run, against torch's."""

import torch

from headscope.analyses.probes.fitting.adam import RunAdam


def made(runs):
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(*shape, generator=generator)) for shape in ((runs, 4, 3), (runs,))]


def loss_of(parameters, step):
    """Another function every step, which each run has to itself."""
    return sum(((each - 0.1 * step) ** 4).sum() for each in parameters)


def test_each_run_goes_as_torchs_adam_at_its_own_rate():
    rates = torch.tensor([0.1, 0.02, 0.0], dtype=torch.float64)
    ours = made(3)
    begun = [each.detach().clone() for each in ours]
    optimizer = RunAdam(ours, 3)
    for step in range(12):
        optimizer.forget_gradients()
        loss_of(ours, step).backward()
        optimizer.step(rates)
    for run, rate in enumerate(rates.tolist()):
        theirs = [torch.nn.Parameter(each[run : run + 1].clone()) for each in begun]
        usual = torch.optim.Adam(theirs, lr=rate)
        for step in range(12):
            usual.zero_grad()
            loss_of(theirs, step).backward()
            usual.step()
        for own, other in zip(ours, theirs):
            torch.testing.assert_close(own[run], other[0], rtol=1e-5, atol=1e-6)
    assert torch.equal(ours[0][2], begun[0][2])


def test_a_run_that_is_forgotten_begins_anew_and_the_others_do_not():
    rates = torch.full((2,), 0.1, dtype=torch.float64)
    ours = made(2)
    optimizer = RunAdam(ours, 2)
    for step in range(5):
        optimizer.forget_gradients()
        loss_of(ours, step).backward()
        optimizer.step(rates)
    optimizer.forget(1)
    before = ours[0].detach().clone()
    optimizer.forget_gradients()
    loss_of(ours, 9).backward()
    signs = ours[0].grad.sign()
    optimizer.step(rates)
    # A first step of Adam is the rate in the direction of the gradient's sign, whatever its size.
    torch.testing.assert_close(ours[0][1], before[1] - 0.1 * signs[1], rtol=1e-4, atol=1e-4)
    assert (ours[0][0] - before[0] + 0.1 * signs[0]).abs().max() > 0.01
