"""Whole inputs predicted by the fits of the halves of the documents: the explanation's own predictions, row by row."""

import numpy as np
import pytest

from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.features import OFFSETS
from headscope.analyses.explanation.fitted import EXPLAINED, POSITIONS, FittedHeads, Predictor
from headscope.analyses.explanation.tables import WEIGHT
from support.planted_explanations import context, inputs, planted, sample_of

HEADS = ({"previous": 5.0, "favors": 3.0}, {"sep_from_marks": 5.0, "cls": 2.0}, {"before_2": 4.0, "log_place": 1.0})


@pytest.fixture(scope="module")
def sample():
    return sample_of([[planted(scores, each) for each in inputs()] for scores in HEADS])


@pytest.fixture(scope="module")
def heads(sample):
    return explain(sample, 1, (WEIGHT,), positions=True, examples=True)[WEIGHT][0]


@pytest.fixture(scope="module")
def predictor(sample, heads):
    fitted = FittedHeads.of(sample, [heads])
    state = fitted.state("encoder")
    assert FittedHeads.from_state(state, "decoder") is None
    return Predictor(FittedHeads.from_state(state, "encoder"), FEATURES)


def predicted(predictor, number, prediction=EXPLAINED, half=None):
    """What is predicted of the sampled rows of an input, `[head, row, key]`."""
    each = inputs()[number]
    visible = np.ones((len(each.rows), len(each.tokens)), dtype=bool)
    pairs = predictor.read(context(each, visible, trees=False))
    if half is None:
        half = predictor.fitted.predicting_half(f"document {number:02}")
    weights = predictor.predict(pairs, visible, prediction=prediction, half=half, layer=0, sink=False)
    assert (weights[..., -1] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1)
    return weights[..., :-1]


def divergences(predictor, number, **how):
    """KL(attention || prediction) of every head, the sum over an input's sampled rows."""
    attention = np.stack([planted(scores, inputs()[number]) for scores in HEADS])
    return (attention * np.log(attention / predicted(predictor, number, **how))).sum((1, 2))


@pytest.mark.slow
def test_every_sampled_row_is_predicted_as_the_explanation_predicts_it(sample, heads, predictor):
    for position, name in enumerate(sample.names):
        number = int(name.split()[-1])
        left = [head.left[position] for head in heads]
        np.testing.assert_allclose(divergences(predictor, number), left, rtol=1e-4, atol=1e-6)
    examples = [(number, example) for number, head in enumerate(heads) for example in head.examples]
    assert len(examples) > 10
    for number, example in examples:
        of_input = int(sample.names[example.document].split()[-1])
        first = np.flatnonzero(sample.documents == sample.documents[example.row])[0]
        weights = predicted(predictor, of_input)[number, example.row - first]
        np.testing.assert_allclose(weights, example.predicted, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_positions_alone_explain_what_is_a_matter_of_position(predictor):
    """A head of two tokens back is all position; one of words, and one of what attends, are not."""
    by_positions, by_all = (share_explained(predictor, prediction) for prediction in (POSITIONS, EXPLAINED))
    assert by_positions[2] > 0.97
    assert (by_positions[:2] < by_all[:2] - 0.1).all()
    width = predictor.fitted.coefficients[POSITIONS].shape[-1]
    assert {group for group, part in predictor.columns.groups.items() if part.start < width} <= set(OFFSETS)


def share_explained(predictor, prediction):
    left = sum(divergences(predictor, number, prediction=prediction) for number in range(len(inputs())))
    return 1 - left / sum(divergences_from_uniform(number) for number in range(len(inputs())))


def divergences_from_uniform(number):
    attention = np.stack([planted(scores, inputs()[number]) for scores in HEADS])
    return (attention * np.log(attention * attention.shape[-1])).sum((1, 2))


@pytest.mark.slow
def test_a_document_is_predicted_by_the_half_that_it_is_not_in(sample, heads, predictor):
    """Each half's coefficients stand where they were fitted, and the halves do not agree to the last digit."""
    for position, name in enumerate(sample.names):
        assert predictor.fitted.predicting_half(name) == 1 - position % 2
    assert predictor.fitted.predicting_half("another document") == 0
    for position in (0, 1):
        number = int(sample.names[position].split()[-1])
        other = divergences(predictor, number, half=position % 2)
        assert not np.allclose(other, [head.left[position] for head in heads], rtol=1e-4)


@pytest.mark.slow
def test_what_is_not_visible_has_no_weight_and_a_learned_sink_has_its_own(predictor):
    each = inputs()[0]
    visible = np.tril(np.ones((len(each.tokens), len(each.tokens)), dtype=bool))[each.rows]
    pairs = predictor.read(context(each, visible, trees=False))
    how = {"prediction": EXPLAINED, "half": 0, "layer": 0}
    weights = predictor.predict(pairs, visible, sink=False, **how)
    whole = predictor.predict(pairs, np.ones_like(visible), sink=False, **how)[..., :-1]
    expected = np.where(visible, whole, 0)
    np.testing.assert_allclose(weights[..., :-1], expected / expected.sum(-1, keepdims=True), atol=1e-12)
    with_sink = predictor.predict(pairs, visible, sink=True, **how)
    # A coefficient of 0: none of these heads has one.
    left = 1 - with_sink[..., -1:]
    np.testing.assert_allclose(with_sink[..., :-1] / left, weights[..., :-1], atol=1e-12)
    assert (with_sink[..., -1] > 0).all()
