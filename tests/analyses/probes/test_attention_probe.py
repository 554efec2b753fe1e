"""Parsers over attention: the formulas of section 5 as plain loops, the root, and what may be a head."""

import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe, AttentionWordsProbe
from headscope.analyses.probes.parsers.learner import candidates
from headscope.analyses.probes.probe_data import SPECIAL
from support.probe_data import WORDS, made_up_tables, made_up_trees, on_disk, probe_data

VECTORS = torch.from_numpy(np.random.default_rng(3).normal(size=(len(WORDS), 5)).astype(np.float32))
KINDS = ("attention", "words")


@pytest.fixture(scope="module")
def sentences():
    return made_up_trees(7)


@pytest.fixture(scope="module")
def tables(sentences):
    return made_up_tables(sentences)


@pytest.fixture(scope="module")
def data(sentences, tables, tmp_path_factory):
    return probe_data(sentences, on_disk(tmp_path_factory.mktemp("maps") / "maps", tables))


def made(kind, tasks=(0, 1), *, special=True, seeds=(0, 1)):
    """A probe in which every weight is drawn, the biases and the root's too."""
    if kind == "attention":
        probe = AttentionProbe(tasks, 3, special=special, seeds=seeds)
    else:
        probe = AttentionWordsProbe(tasks, 3, VECTORS, special=special, seeds=seeds)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    return probe


def weight(probe, run, head, direction, candidate, dependent):
    """The weight that a run gives a head; words are their vectors, None for the root."""
    if isinstance(probe, AttentionProbe):
        return float(probe.weights[run, direction, head])
    own = probe.root_vector[run] if candidate is None else candidate
    total = probe.bias[run, direction, head]
    for role, vector in enumerate((own, dependent)):
        total = total + (vector * probe.weights[run, role, direction, :, head]).sum()
    return float(total)


def by_hand(probe, sentence, table, run):
    """score(i | j) = sum over k of w_k a_ij^k + u_k a_ji^k, pair by pair, `[dependent, 1 + word]`."""
    vectors = [VECTORS[WORDS.index(word)] for word in sentence.words]
    size = len(sentence)
    out = np.zeros((size, 1 + size))
    for j in range(size):
        for i in range(-1, size):
            total = 0.0
            for head in range(3):
                down, up = (
                    weight(probe, run, head, direction, None if i < 0 else vectors[i], vectors[j])
                    for direction in (0, 1)
                )
                if i >= 0:
                    total += down * table[i + SPECIAL, j + SPECIAL, head]
                    total += up * table[j + SPECIAL, i + SPECIAL, head]
                    continue
                if probe.root.constant is not None:
                    total = float(probe.root.constant[run])
                for place in range(SPECIAL if probe.root.constant is None else 0):
                    share = float(probe.root.share[run, place])
                    total += share * down * table[place, j + SPECIAL, head]
                    total += share * up * table[j + SPECIAL, place, head]
            out[j, i + 1] = total
    return out


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_papers_formula(kind, special, data, sentences, tables):
    probe = made(kind, special=special).requires_grad_(False)
    batch = data.batch(data.numbers)
    raw = probe.raw(batch)
    assert raw.shape == (2, 7, 9, 10)
    for item, (sentence, table) in enumerate(zip(sentences, tables)):
        for run in range(2):
            wanted = by_hand(probe, sentence, table.astype(np.float64), run)
            size = len(sentence)
            found = raw[run, item, :size, : size + 1].detach().numpy()
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_the_other_sentences_of_a_batch_change_nothing(kind, data, sentences):
    probe = made(kind)
    together = probe.scores(data.batch(data.numbers))
    for item, sentence in enumerate(sentences):
        alone = probe.scores(data.batch(data.numbers[item : item + 1]))
        size = len(sentence)
        assert alone.shape == (2, 1, size, size + 1)
        np.testing.assert_allclose(
            together[:, item, :size, : size + 1].detach(), alone[:, 0].detach(), rtol=1e-4, atol=1e-4
        )
        assert torch.isneginf(together[:, item, :size, size + 1 :]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_over_the_other_words_and_the_root(kind, data, sentences):
    tree, control = made(kind).scores(data.batch(data.numbers)).exp().detach()
    for item, sentence in enumerate(sentences):
        size = len(sentence)
        np.testing.assert_allclose(tree[item, :size].sum(1), 1, rtol=1e-5)
        np.testing.assert_allclose(control[item, :size].sum(1), 1, rtol=1e-5)
        # In the tree no word heads itself; in the control task a word may, and there is no root.
        assert (tree[item, :size, 1 : size + 1].diagonal() == 0).all()
        assert (tree[item, :size, 0] > 0).all()
        assert (control[item, :size, 1 : size + 1].diagonal() > 0).all()
        assert (control[item, :size, 0] == 0).all()


def test_what_may_be_a_head_of_two_words_and_of_padding(data, sentences):
    number = next(n for n, s in enumerate(sentences) if len(s) < 9)
    batch = data.batch(data.numbers)
    tree, control = candidates(batch, (0, 1))
    size = len(sentences[number])
    wanted = np.ones((size, size), dtype=bool)
    np.testing.assert_array_equal(control[number, :size, 1 : size + 1], wanted)
    np.testing.assert_array_equal(tree[number, :size, 1 : size + 1], wanted & ~np.eye(size, dtype=bool))
    for mask in (tree, control):
        np.testing.assert_array_equal(mask[number, size:].sum(1), np.ones(9 - size))
        assert mask[number, size:, 0].all()


@pytest.mark.parametrize("kind", KINDS)
def test_judging_counts_words_and_sums_their_loss(kind, data, sentences):
    probe = made(kind).requires_grad_(False)
    batch = data.batch(data.numbers)
    judged = probe.judge(batch)
    scores = probe.scores(batch).detach().numpy()
    assert judged.counts.tolist() == [len(sentence) for sentence in sentences]
    for run in range(2):
        for item, sentence in enumerate(sentences):
            targets = sentence.heads if run == 0 else np.ones(len(sentence), dtype=int)
            loss = -sum(scores[run, item, word, target] for word, target in enumerate(targets))
            assert float(judged.loss[run, item]) == pytest.approx(float(loss), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_runs_first_weights_and_gradient_do_not_depend_on_the_others(kind, data):
    batch = data.batch(data.numbers)
    cls = (
        (lambda tasks, seeds: AttentionProbe(tasks, 3, special=True, seeds=seeds))
        if kind == "attention"
        else (lambda tasks, seeds: AttentionWordsProbe(tasks, 3, VECTORS, special=True, seeds=seeds))
    )
    alone, among = cls((1,), (5,)), cls((0, 1, 0), (4, 5, 6))
    for probe in (alone, among):
        probe.judge(batch).loss.sum().backward()
    for own, others in zip(alone.parameters(), among.parameters()):
        assert torch.equal(own[0], others[1])
        np.testing.assert_allclose(own.grad[0], others.grad[1], rtol=1e-4, atol=1e-5)
