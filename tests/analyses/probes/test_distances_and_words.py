"""The parser that sees words and distances: its features, its hidden layer pair by pair, its gradient."""

import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers import distances_and_words
from headscope.analyses.probes.parsers.distances_and_words import (
    FEATURES,
    DistanceWordsProbe,
    distance_features,
    pair_scores,
)
from support.probe_data import WORDS, made_up_trees, probe_data

VECTORS = torch.from_numpy(np.random.default_rng(3).normal(size=(len(WORDS), 4)).astype(np.float32))


def test_features_tell_ahead_from_behind_and_near_from_far():
    found = distance_features(torch.tensor([0, 1, -2, 5, 6, -12])).numpy()
    assert found.shape == (6, FEATURES) == (6, 13)
    wanted = np.zeros((6, 13))
    wanted[0, 10] = 1  # the word itself
    wanted[1, 0], wanted[1, 11] = 1, 0.1
    wanted[2, 6], wanted[2, 12] = 1, 0.2
    wanted[3, 4], wanted[3, 11] = 1, 0.5
    wanted[4, 11] = 0.6
    wanted[5, 12] = 1.2
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_scores_are_one_hidden_layer_on_two_vectors_and_features():
    sentences = made_up_trees(5)
    data = probe_data(sentences, None)
    probe = DistanceWordsProbe((0, 1), VECTORS, seeds=(0, 1), hidden=7)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    raw = probe.raw(data.batch(data.numbers)).detach().numpy()
    own = {name: value.detach().numpy().astype(np.float64) for name, value in probe.named_parameters()}
    for item, sentence in enumerate(sentences):
        vectors = [VECTORS[WORDS.index(word)].numpy() for word in sentence.words]
        for run in range(2):
            for j, dependent in enumerate(vectors):
                base = dependent @ own["words"][run, 1] + own["bias"][run]
                root = np.tanh(base + own["root"][run]) @ own["out"][run]
                assert raw[run, item, j, 0] == pytest.approx(root, rel=1e-4, abs=1e-4)
                for i, candidate in enumerate(vectors):
                    step = distance_features(torch.tensor([i - j]))[0].numpy()
                    inner = base + candidate @ own["words"][run, 0] + step @ own["features"][run]
                    wanted = np.tanh(inner) @ own["out"][run]
                    assert raw[run, item, j, i + 1] == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("at_once", [1, 1 << 18])
def test_the_hidden_layers_gradient_is_that_of_its_formula(at_once, monkeypatch):
    monkeypatch.setattr(distances_and_words, "_AT_ONCE", at_once)
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    given = drawn(3, 4, 5), drawn(3, 4, 5), drawn(4, 4, 5), drawn(5)
    candidates, dependents, apart, out = given
    plain = (dependents[:, :, None] + candidates[:, None] + apart).tanh() @ out
    found = pair_scores(*given)
    torch.testing.assert_close(found, plain)
    upstream = torch.randn(plain.shape, generator=generator, dtype=torch.float64)
    wanted = torch.autograd.grad(plain, given, upstream)
    for own, other in zip(torch.autograd.grad(found, given, upstream), wanted):
        torch.testing.assert_close(own, other)
