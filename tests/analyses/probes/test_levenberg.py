"""Damped Newton steps on functions whose minimum is known, or that scipy finds."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from headscope.analyses.probes.parsers.newton import Levenberg


def minimized(function, start, *, tolerance=1e-8, most=60):
    run = Levenberg(torch.tensor(start, dtype=torch.float64), tolerance=tolerance)
    steps = 0
    while not run.done and steps < most:
        run.tell(*function(run.at))
        steps += 1
    return run, steps


def logistic(x, labels, ridge=0.0):
    """Mean logistic loss of linear scores: value, gradient and second derivatives."""

    def at(weights):
        chance = torch.sigmoid(x @ weights)
        value = -(labels * chance.log() + (1 - labels) * (1 - chance).log()).mean()
        slope = x.T @ (chance - labels) / len(x)
        return float(value), slope, (x.T * (chance * (1 - chance))) @ x / len(x)

    return at


def made(number=400, width=6):
    rng = np.random.default_rng(2)
    # Columns of very different size, two of them nearly the same.
    x = rng.normal(size=(number, width)) * 10.0 ** np.arange(-2, width - 2)
    x[:, 1] = x[:, 0] + 0.001 * rng.normal(size=number)
    wanted = x @ (rng.normal(size=width) / np.abs(x).mean(0))
    labels = rng.random(number) < 1 / (1 + np.exp(-wanted))
    return torch.from_numpy(x), torch.from_numpy(labels.astype(np.float64))


def test_a_logistic_loss_comes_to_scipys_minimum():
    x, labels = made()
    function = logistic(x, labels)
    run, steps = minimized(function, [0.0] * 6)
    scale = x.abs().mean(0)

    def scaled(z):
        value, slope, _ = function(torch.from_numpy(z) / scale)
        return value, (slope / scale).numpy()

    other = minimize(scaled, np.zeros(6), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    assert run.done
    assert steps < 40
    assert run.value == pytest.approx(other.fun, abs=1e-6)


def test_the_gap_says_how_far_above_the_minimum_it_is():
    function = logistic(*made())
    lowest = minimized(function, [0.0] * 6)[0].value
    run, _ = minimized(function, [0.0] * 6, tolerance=1e-2)
    assert run.done
    assert run.gap <= 1e-2
    assert run.value - lowest < 2 * run.gap
    assert run.value - lowest > run.gap / 4


def test_a_step_that_makes_things_worse_is_taken_back():
    """Of the square root of 1 + x^2 Newton's own steps from 3 run away."""

    def function(x):
        root = (1 + x * x).sqrt()
        return float(root.sum()) - 1, x / root, torch.diag(root**-3)

    run, _ = minimized(function, [3.0])
    assert run.done
    assert float(run.point.abs().max()) < 1e-3


def test_what_no_data_speaks_of_stays_where_it_is():
    x, labels = made()
    x[:, 2] = 0
    run, _ = minimized(logistic(x, labels), [0.0, 0.0, 0.7, 0.0, 0.0, 0.0])
    assert run.done
    assert float(run.point[2]) == pytest.approx(0.7)


def test_where_the_curvature_is_not_that_of_a_bowl_it_still_goes_down():
    """From beside the hilltop of (x^2 - 1)^2 + y^2 between two bottoms, of which 12 x^2 - 4 is the curvature in x."""

    def function(at):
        x, y = at
        slope = torch.stack([4 * x * (x * x - 1), 2 * y])
        part, rest = torch.stack([12 * x * x, 2 + 0 * y]), torch.tensor([-4.0, 0.0], dtype=torch.float64)
        return float((x * x - 1) ** 2 + y * y), slope, torch.diag(part), torch.diag(rest)

    run = Levenberg(torch.tensor([0.1, 1.0], dtype=torch.float64), tolerance=1e-8)
    run.tell(*function(run.at))
    assert run.gap == run.value
    steps = 1
    while not run.done:
        run.tell(*function(run.at))
        steps += 1
    assert steps < 30
    torch.testing.assert_close(run.point.abs(), torch.tensor([1.0, 0.0], dtype=torch.float64).abs(), rtol=0, atol=1e-3)
