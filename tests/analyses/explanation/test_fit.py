"""The fit against scipy, finite differences and plain loops; heads, rows and padding do not touch one another."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from headscope.analyses.explanation.fit import Problem, curvature, fit
from headscope.analyses.explanation.row_block import Product, RowBlock
from support.planted_explanations import inputs, planted, sample_of

COLUMNS, HEADS = 5, 4
LENGTHS = (3, 9, 1, 6, 6, 2, 8, 5)


def made_up(*, dtype=np.float64):
    """Rows of several lengths with random features and attention; a head of the last row has no attention."""
    rng = np.random.default_rng(11)
    features = [rng.normal(size=(length, COLUMNS)) for length in LENGTHS]
    attention = []
    for values in features:
        weights = np.exp(values @ rng.normal(size=(COLUMNS, HEADS)) + rng.normal(size=(len(values), HEADS)))
        attention.append(weights / weights.sum(0) * rng.uniform(0.3, 1.0, HEADS))
    attention[-1][:, 0] = 0.0
    return [each.astype(dtype) for each in features], [each.astype(dtype) for each in attention]


def block_of(features, rows):
    """Return some rows as one block; cells are numbered row by row."""
    longest, columns = max(len(features[row]) for row in rows), features[0].shape[1]
    starts = np.cumsum([0, *map(len, features)])
    values = np.zeros((len(rows), longest, columns), features[0].dtype)
    visible, cells = np.zeros((len(rows), longest), bool), np.zeros((len(rows), longest), np.int64)
    for index, row in enumerate(rows):
        length = len(features[row])
        values[index, :length] = features[row]
        visible[index, :length] = True
        cells[index, :length] = starts[row] + np.arange(length)
    return RowBlock(
        features=values.reshape(-1, columns),
        visible=visible,
        rows=np.array(rows),
        cells=cells,
        facts=np.zeros((len(rows), 0)),
    )


def problem_of(features, attention, parts, **how):
    blocks = [block_of(features, rows) for rows in parts]
    flat = np.concatenate(attention).T
    return Problem(blocks=blocks, targets=[block.targets(flat) for block in blocks], **how)


def objective(coefficients, features, attention, head, ridge):
    """The mean divergence but for a constant, with its penalty, as a plain loop."""
    loss = mass = 0.0
    for values, weights in zip(features, attention, strict=True):
        logits = values @ coefficients
        weight = weights[:, head]
        loss += weight.sum() * np.logaddexp.reduce(logits) - weight @ logits
        mass += weight.sum()
    return (loss + 0.5 * ridge * coefficients @ coefficients) / mass


def test_the_minimum_is_that_of_scipy():
    features, attention = made_up()
    ridge = np.array([0.1, 1.0, 3.0, 0.5])
    problem = problem_of(features, attention, [[0, 2, 4], [1, 3, 5, 6, 7]])
    found = fit(problem, ridge, steps=300, tolerance=0.0)
    for head in range(HEADS):
        how = (features, attention, head, ridge[head])
        expected = minimize(objective, np.zeros(COLUMNS), how, method="BFGS", options={"gtol": 1e-9})
        assert objective(found[:, head], *how) == pytest.approx(expected.fun, rel=1e-12)
        np.testing.assert_allclose(found[:, head], expected.x, atol=1e-5)


def test_blocks_other_heads_and_precision_change_little():
    features, attention = made_up()
    ridge = np.full(HEADS, 1.0)
    whole = fit(problem_of(features, attention, [list(range(8))]), ridge, steps=300, tolerance=0.0)
    parts = fit(problem_of(features, attention, [[7, 1], [0, 2, 3], [4, 5, 6]]), ridge, steps=300, tolerance=0.0)
    np.testing.assert_allclose(parts, whole, atol=1e-8)
    alone = problem_of(features, [each[:, 2:3] for each in attention], [list(range(8))])
    found = fit(alone, ridge[:1], steps=300, tolerance=0.0)
    np.testing.assert_allclose(found[:, 0], whole[:, 2], atol=1e-6)
    single = [[each.astype(np.float32) for each in part] for part in (features, attention)]
    rough = fit(problem_of(*single, [list(range(8))]), ridge)
    np.testing.assert_allclose(rough, whole, atol=2e-2)


def test_what_is_offset_stays_and_columns_are_a_part():
    """Fitting the last columns on top of the first ones, held fixed, is scipy's minimum along those alone."""
    features, attention = made_up()
    parts = [[0, 1, 2, 3], [4, 5, 6, 7]]
    before = np.random.default_rng(12).normal(size=(2, HEADS))
    problem = problem_of(features, attention, parts)
    offsets = [block.features[:, :2] @ before for block in problem.blocks]
    on_top = problem_of(features, attention, parts, offsets=offsets, columns=slice(2, COLUMNS))
    found = fit(on_top, np.full(HEADS, 1e-6), steps=300, tolerance=0.0)
    for head in range(HEADS):

        def loss(rest, head=head):
            return objective(np.append(before[:, head], rest), features, attention, head, 0.0)

        expected = minimize(loss, np.zeros(COLUMNS - 2), method="BFGS", options={"gtol": 1e-9})
        assert loss(found[:, head]) == pytest.approx(expected.fun, abs=1e-6)


def test_the_curvature_is_the_second_derivative_at_the_mean_attention():
    features, attention = made_up()
    problem = problem_of(features, attention, [[0, 1, 2, 3], [4, 5, 6, 7]])
    expected, mass = np.zeros((COLUMNS, COLUMNS)), 0.0
    for values, weights in zip(features, attention, strict=True):
        mean = weights.mean(1)
        expected += values.T @ (mean[:, None] * values) - np.outer(mean @ values, mean @ values) / mean.sum()
        mass += mean.sum()
    np.testing.assert_allclose(curvature(problem), expected / mass, atol=1e-12)


def test_probabilities_are_a_softmax_over_cells_that_count():
    block, rng = block_of(made_up()[0], [0, 1, 2]), np.random.default_rng(13)
    hidden = replace(block, visible=block.visible & (rng.random(block.visible.shape) < 0.6))
    hidden.visible[1] = False
    logits = 30 * rng.normal(size=(block.visible.size, 2))
    probabilities, logs = hidden.probabilities(logits)
    for row, visible in enumerate(hidden.visible):
        of_row = logits.reshape(*hidden.visible.shape, 2)[row]
        if not visible.any():
            assert not probabilities[row].any()
            assert not logs[row].any()
            continue
        total = np.logaddexp.reduce(of_row[visible], axis=0)
        np.testing.assert_allclose(logs[row], total)
        expected = np.where(visible[:, None], np.exp(of_row - total), 0.0)
        np.testing.assert_allclose(probabilities[row], expected, atol=1e-12)


def test_joined_and_chosen_rows_are_the_same_rows():
    features, _ = made_up()
    blocks = [block_of(features, rows) for rows in ([0, 2], [1, 3, 4])]
    joined = RowBlock.joined(blocks).only(np.array([4, 1, 2]))
    expected = block_of(features, [4, 2, 1])
    for name in ("features", "visible", "rows", "cells"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(expected, name), err_msg=name)


def test_products_are_never_stored_but_count_as_columns():
    """Logits, sums and curvature of all columns, and of some, are those of a block that stores every product."""
    features, attention = made_up()
    stored, rng = block_of(features, list(range(8))), np.random.default_rng(14)
    facts = rng.normal(size=(8, 3))
    products = (
        Product(columns=slice(3, 7), facts=slice(0, 2), factors=slice(3, 5)),
        Product(columns=slice(7, 8), facts=slice(2, 3), factors=slice(4, 5)),
    )
    block = replace(stored, facts=facts, products=products)
    rows = np.repeat(np.arange(8), stored.visible.shape[1])
    pairs = [None, None, None, (0, 3), (0, 4), (1, 3), (1, 4), (2, 4)]
    columns = [
        stored.features[:, number] if pair is None else facts[rows, pair[0]] * stored.features[:, pair[1]]
        for number, pair in enumerate(pairs)
    ]
    whole = replace(stored, features=np.stack(columns, axis=1))
    coefficients, values = rng.normal(size=(8, HEADS)), rng.normal(size=(*stored.visible.shape, HEADS))
    target = stored.targets(np.concatenate(attention).T)
    for part in (None, slice(0, 8), slice(0, 2), slice(1, 7), slice(3, 7), slice(7, 8), slice(3, 8), slice(0, 0)):
        of_part = coefficients[part or slice(None)]
        np.testing.assert_allclose(block.logits(of_part, part), whole.logits(of_part, part), atol=1e-12)
        np.testing.assert_allclose(block.sums(values, part), whole.sums(values, part), atol=1e-12)
        np.testing.assert_allclose(block.dense(part), whole.dense(part), atol=1e-12)
        seconds = [curvature(Problem(blocks=[each], targets=[target], columns=part)) for each in (block, whole)]
        np.testing.assert_allclose(*seconds, atol=1e-12)
    joined = RowBlock.joined([block.only(np.array([0, 1, 2])), block.only(np.array([3, 4, 5, 6, 7]))])
    np.testing.assert_allclose(joined.logits(coefficients), block.logits(coefficients), atol=1e-12)
    nothing = block.only(np.zeros(0, np.int64))
    assert nothing.logits(coefficients).shape == (0, HEADS)
    assert not nothing.sums(values[:0]).any()
    assert nothing.dense().shape == (0, 8)


def test_a_fit_continues_where_an_earlier_fit_stopped():
    """Six steps are as good as three and then three more, with the memory of the first three."""
    features, attention = made_up()
    problem, ridge = problem_of(features, attention, [list(range(8))]), np.full(HEADS, 1.0)
    how = {"second": curvature(problem), "tolerance": 0.0}
    whole, memory = fit(problem, ridge, steps=6, **how), []
    start = fit(problem, ridge, steps=3, memory=memory, **how)
    assert not np.allclose(start, whole, atol=1e-4)
    np.testing.assert_allclose(fit(problem, ridge, start=start, steps=3, memory=memory, **how), whole, atol=1e-9)


def test_padding_takes_no_attention():
    """By hand: each row has one key with the feature; of 2 keys it gets 4/5, of 4 keys 4/7: its coefficient is ln 4."""
    features = [np.array([[1.0], [0.0]]), np.array([[0.0], [0.0], [1.0], [0.0]])]
    attention = [np.array([[4.0], [1.0]]) / 5, np.array([[1.0], [1.0], [4.0], [1.0]]) / 7]
    found = fit(problem_of(features, attention, [[0, 1]]), np.array([1e-9]), steps=50, tolerance=0.0)
    np.testing.assert_allclose(found, np.log(4), rtol=1e-6)


@pytest.mark.slow
def test_the_columns_of_a_run_are_fitted_as_scipy_fits_them():
    """All columns of planted heads in double precision, row by row; a run's own steps end near the same minimum."""
    heads = ({"previous": 4.0, "cls": 3.0}, {"behind_copy": 4.0, "period_comma": -2.0})
    sample = sample_of([[planted(scores, each) for each in inputs()] for scores in heads])
    counted = np.ones(len(sample.is_sink), dtype=bool)
    single = sample.half(0, counted)
    blocks = [replace(block, features=block.features.astype(np.float64)) for block in single]
    weights = sample.attention(0, 0)

    def problem(blocks):
        return Problem(blocks=blocks, targets=[block.targets(weights) for block in blocks])

    ridge = np.ones(len(heads))
    found = fit(problem(blocks), ridge, steps=1000, tolerance=0.0)
    rough = fit(problem(single), ridge)
    rows = [
        (block.dense().reshape(*block.visible.shape, -1)[row][visible], weights[:, block.cells[row][visible]])
        for block in blocks
        for row, visible in enumerate(block.visible)
    ]
    for head in range(len(heads)):

        def loss(coefficients, head=head):
            total, slope = 0.5 * coefficients @ coefficients, coefficients.copy()
            for values, attention in rows:
                logits, target = values @ coefficients, attention[head].astype(np.float64)
                log_sum = np.logaddexp.reduce(logits)
                total += target.sum() * log_sum - target @ logits
                slope += (target.sum() * np.exp(logits - log_sum) - target) @ values
            return total / len(rows), slope / len(rows)

        how = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9}
        expected = minimize(loss, np.zeros(len(found)), jac=True, method="L-BFGS-B", options=how)
        assert loss(found[:, head])[0] == pytest.approx(expected.fun, abs=1e-6)
        assert loss(rough[:, head].astype(np.float64))[0] == pytest.approx(expected.fun, abs=2e-3)
