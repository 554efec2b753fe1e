"""The explained share agrees with one that scipy fits to the same rows, of features that a plain loop lays out."""

import numpy as np
import pytest
from scipy.optimize import minimize

from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.greedy import Selector
from headscope.analyses.explanation.halves import half_of
from headscope.analyses.explanation.logit import RIDGE
from headscope.analyses.explanation.tables import WEIGHT
from support.planted_explanations import context, inputs, planted, sample_of

MIXTURES = (
    {"previous": 2.0, "cls": 3.0},
    {"favors": 2.5, "earlier_copy": 2.0, "later_copy": 1.0},
    {"log_distance_back": -1.0, "period_comma": 1.5, "current": -2.0},
)


def noisy(scores, *, seed):
    """Attention made of features and noise, as no features separate it perfectly."""
    rng = np.random.default_rng(seed)
    heads = [planted(scores, each) * np.exp(0.8 * rng.normal(size=planted(scores, each).shape)) for each in inputs()]
    return [head / head.sum(1, keepdims=True) for head in heads]


@pytest.fixture(scope="module")
def heads():
    return [noisy(scores, seed=seed) for seed, scores in enumerate(MIXTURES)]


@pytest.fixture(scope="module")
def sample(heads):
    return sample_of(heads)


def tables_of(groups, token_ids):
    """The columns of groups in every input, `[row, key, column]`."""
    names = [name for group in groups for name, feature in FEATURES.items() if feature.group == group]
    tables = []
    for each in inputs():
        rows = context(each, np.ones((len(each.rows), len(each.tokens)), dtype=bool), trees=False)
        columns = {name: FEATURES[name].compute(rows) for name in names}
        parts = []
        for group in groups:
            if group == TOKENS:
                parts += [rows.of_keys(each.tokens.ids == token) for token in token_ids]
            parts += [columns[name] for name in names if FEATURES[name].group == group]
        tables.append(np.stack(parts, axis=-1))
    return tables


def log_predictions(tables, coefficients):
    for table in tables:
        logits = table @ coefficients
        top = logits.max(1, keepdims=True)
        yield logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))


def fitted_by_scipy(tables, attention, ridge):
    """The coefficients under which the mean cross entropy of rows, and the penalty, are least."""
    rows = sum(len(table) for table in tables)

    def objective(coefficients):
        loss, gradient = 0.5 * ridge @ coefficients**2, ridge * coefficients
        for table, weights, log_p in zip(tables, attention, log_predictions(tables, coefficients), strict=True):
            loss -= float((weights * log_p).sum()) / rows
            gradient = gradient + np.einsum("rk,rkc->c", np.exp(log_p) - weights, table) / rows
        return loss, gradient

    start = np.zeros(tables[0].shape[-1])
    options = {"ftol": 0.0, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 40_000, "maxcor": 50}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


@pytest.mark.slow
@pytest.mark.parametrize("head", range(len(MIXTURES)))
def test_the_explained_share_is_that_of_scipy(heads, sample, head):
    ours = explain(sample, [0], (WEIGHT,))[0][WEIGHT][head]
    left = whole = 0.0
    for parity in (0, 1):
        half = half_of(sample, None, parity)
        selected, _ = Selector(half.split).select(sample.attention(0, 0)[head])
        assert selected.groups
        tables = tables_of(selected.groups, half.token_ids)
        number_of = {name: number for number, name in enumerate(sample.names)}
        fits = [number_of[f"document {number:02}"] % 2 == parity for number in range(len(tables))]
        attention = [weights.astype(np.float32).astype(np.float64) for weights in heads[head]]
        attention = [weights / weights.sum(1, keepdims=True) for weights in attention]
        parts = {
            side: [
                (table, each) for table, each, of_half in zip(tables, attention, fits, strict=True) if of_half is side
            ]
            for side in (True, False)
        }
        penalty = np.concatenate(
            [
                np.full(
                    part.stop - part.start,
                    RIDGE + (selected.columns.token_ridge or 0.0) / sum(len(table) for table, _ in parts[True])
                    if group == TOKENS
                    else RIDGE,
                )
                for group, part in selected.columns.slices.items()
            ]
        )
        coefficients = fitted_by_scipy(*map(list, zip(*parts[True], strict=True)), penalty)
        for table, weights in parts[False]:
            (log_p,) = log_predictions([table], coefficients)
            logs = np.log(np.maximum(weights, 1e-300))
            left += float((weights * (logs - log_p)).sum())
            whole += float((weights * (logs + np.log(weights.shape[1]))).sum())
    assert ours.to_explain.sum() == pytest.approx(whole, rel=1e-6)
    assert 1 - ours.left.sum() / ours.to_explain.sum() == pytest.approx(1 - left / whole, abs=1e-6)
