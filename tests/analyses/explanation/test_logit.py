"""The multinomial logit agrees with an independent fit, and its columns with a plain loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.design import Block, Design
from headscope.analyses.explanation.logit import RIDGE, Prediction, Target, fit, log_softmax


def made_up(*, seed: int) -> tuple[Design, np.ndarray]:
    """Rows of several lengths, three features, two sets of classes, and attention that some of them make."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, size=60)
    cells = int(lengths.sum())
    nothing = np.zeros((0, cells))
    blocks = {
        "features": Block(dense=rng.normal(size=(3, cells))),
        "classes": Block(dense=nothing, codes=rng.integers(0, 4, size=cells), n_codes=3, ridge=2.0),
        "others": Block(dense=nothing, codes=rng.integers(0, 3, size=cells), n_codes=2),
    }
    design = Design(starts=np.cumsum(lengths) - lengths, n_cells=cells, blocks=blocks)
    logits = Columns(design, ["features"]).logits(np.array([1.0, -2.0, 0.5])) + rng.normal(size=cells)
    return design, np.exp(log_softmax(logits, design))


def table_of(design: Design, groups: list[str]) -> np.ndarray:
    """Every column written out, `[cell, column]`."""
    columns = []
    for group in groups:
        block = design.blocks[group]
        if block.codes is None:
            columns += list(block.dense)
        else:
            columns += [(block.codes == code).astype(float) for code in range(1, block.n_codes + 1)]
    return np.stack(columns, axis=1)


GROUPS = ["classes", "features", "others"]


def test_sums_and_products_are_those_of_the_table():
    design, attention = made_up(seed=1)
    columns, table = Columns(design, GROUPS), table_of(design, GROUPS)
    coefficients = np.random.default_rng(2).normal(size=table.shape[1])
    np.testing.assert_allclose(columns.logits(coefficients), table @ coefficients)
    np.testing.assert_allclose(columns.sums(attention), table.T @ attention)
    of_rows, products = columns.moments(attention)
    np.testing.assert_allclose(products, table.T @ (attention[:, None] * table), rtol=1e-5, atol=1e-5)
    rows = [(design.row_of == row) for row in range(len(design.starts))]
    by_row = np.stack([attention[row] @ table[row] for row in rows])
    np.testing.assert_allclose(of_rows, by_row, rtol=1e-5, atol=1e-6)


def test_the_design_of_some_rows_has_their_cells():
    design, _ = made_up(seed=3)
    rows = np.array([4, 9, 30])
    part, cells = design.only(rows)
    np.testing.assert_array_equal(np.unique(design.row_of[cells]), rows)
    np.testing.assert_array_equal(part.lengths, design.lengths[rows])
    np.testing.assert_array_equal(part.blocks["features"].dense, design.blocks["features"].dense[:, cells])


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_that_of_scipy(seed):
    """What is left unexplained agrees to a millionth of what there is to explain."""
    design, attention = made_up(seed=seed)
    attention[design.row_of == 3] = 0.0  # a row without attention does not count
    target = Target.of(attention, design)
    table, starts = table_of(design, GROUPS), design.starts
    penalty = RIDGE + Columns(design, GROUPS).ridge / target.n_rows

    def objective(coefficients):
        logits = table @ coefficients
        loss = 0.0
        for start, length, mass in zip(starts, design.lengths, target.mass, strict=True):
            row = logits[start : start + length]
            top = row.max()
            loss += mass * (top + np.log(np.exp(row - top).sum()))
            loss -= target.attention[start : start + length] @ row
        return loss / target.n_rows + 0.5 * penalty @ coefficients**2

    theirs = minimize(objective, np.zeros(table.shape[1]), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-8})
    ours = fit(Columns(design, GROUPS), target)
    assert objective(ours) <= theirs.fun + 1e-10
    np.testing.assert_allclose(log_softmax(table @ ours, design), log_softmax(table @ theirs.x, design), atol=1e-4)
    uniform = objective(np.zeros(table.shape[1]))
    assert abs(objective(ours) - theirs.fun) < 1e-6 * uniform


def test_perfect_separation_stays_finite():
    design = Design(starts=np.array([0, 3]), n_cells=6, blocks={"x": Block(dense=np.array([[0.0, 1, 0, 1, 0, 0]]))})
    attention = np.array([0.0, 1, 0, 1, 0, 0])
    coefficients = fit(Columns(design, ["x"]), Target.of(attention, design))
    assert 8 < coefficients[0] < 30


@settings(max_examples=50)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    seed=st.integers(0, 1 << 32),
    scale=st.floats(0, 300),
    constant=st.floats(-1e6, 1e6),
)
def test_a_prediction_is_the_softmax_over_the_visible_keys(lengths, seed, scale, constant):
    """It sums to 1, and a constant that is added to the scores of a row changes nothing."""
    rng = np.random.default_rng(seed)
    cells = sum(lengths)
    blocks = {"features": Block(dense=rng.normal(size=(3, cells)).astype(np.float32))}
    design = Design(starts=np.cumsum(lengths) - lengths, n_cells=cells, blocks=blocks)
    scores = Columns(design, ["features"]).logits(scale * rng.normal(size=3))
    attention = rng.random(cells)
    prediction = Prediction(scores, Target.of(attention, design), design).p
    for start, length in zip(design.starts, lengths, strict=True):
        row = slice(start, start + length)
        np.testing.assert_allclose(prediction[row], softmax(scores[row]), rtol=1e-9, atol=1e-300)
        assert prediction[row].sum() == pytest.approx(1, abs=1e-12)
        assert (prediction[row] >= 0).all()
    np.testing.assert_allclose(np.exp(log_softmax(scores, design)), prediction, rtol=1e-9, atol=1e-300)
    moved = scores + constant * rng.normal(size=len(lengths))[design.row_of]
    np.testing.assert_allclose(log_softmax(moved, design), log_softmax(scores, design), atol=1e-8)
