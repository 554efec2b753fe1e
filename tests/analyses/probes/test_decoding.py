"""The answers of probes: trees with the highest score, and the labels of arcs."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers.decoding import LabelProbe, best_tree, is_tree, right_branching, root_label
from headscope.analyses.probes.tree_sentences import UNKNOWN, kinds_of
from support.probe_data import WORDS, made_up_tables, made_up_trees, on_disk, probe_data


def drawn(rng, size, *, scale=1.0):
    """Log-probabilities of heads; no word is its own."""
    scores = scale * rng.normal(size=(size, size + 1))
    scores[np.arange(size), np.arange(size) + 1] = -np.inf
    return scores - np.log(np.exp(scores).sum(1, keepdims=True))


def total(scores, heads):
    return float(scores[np.arange(len(heads)), heads].sum())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_best_of_all_trees(size):
    rng = np.random.default_rng(size)
    for _ in range(8):
        scores = drawn(rng, size)
        every = (np.array(heads) for heads in itertools.product(range(size + 1), repeat=size))
        wanted = max(total(scores, heads) for heads in every if is_tree(heads) and np.isfinite(total(scores, heads)))
        found = best_tree(scores)
        assert is_tree(found)
        assert total(scores, found) == pytest.approx(wanted)


def test_longer_sentences_against_networkx_with_every_arc():
    rng = np.random.default_rng(0)
    for size in (8, 13, 18):
        scores = drawn(rng, size, scale=3.0)
        graph = nx.DiGraph()
        for dependent, head in itertools.product(range(size), range(size + 1)):
            if head != dependent + 1:
                penalty = 1e4 if head == 0 else 0.0  # one root
                graph.add_edge(head, dependent + 1, weight=scores[dependent, head] - penalty)
        wanted = sum(scores[dependent - 1, head] for head, dependent in nx.maximum_spanning_arborescence(graph).edges)
        found = best_tree(scores.astype(np.float32))
        assert is_tree(found)
        assert total(scores, found) == pytest.approx(wanted, abs=1e-4)
        assert total(scores, scores.argmax(1)) >= total(scores, found)


def test_best_heads_that_are_a_tree_are_the_best_tree():
    scores = np.full((3, 4), -5.0)
    scores[0, 2] = scores[1, 0] = scores[2, 1] = -0.1
    assert best_tree(scores).tolist() == scores.argmax(1).tolist() == [2, 0, 1]


def test_two_roots_become_one_even_where_both_are_likely():
    scores = np.log(np.array([[0.9, 1e-9, 0.1], [0.8, 0.2, 1e-9]]))
    assert scores.argmax(1).tolist() == [0, 0]
    assert best_tree(scores).tolist() == [0, 1]  # 0.9 x 0.2 against 0.1 x 0.8


def test_what_is_a_tree():
    assert is_tree(np.array([2, 0, 2]))
    assert not is_tree(np.array([2, 1, 0]))  # a circle
    assert not is_tree(np.array([0, 0]))  # two roots
    assert not is_tree(np.array([2, 1]))  # none
    assert is_tree(right_branching(200))


def test_right_branching_hangs_the_last_word_on_the_root():
    assert right_branching(4).tolist() == [2, 3, 4, 0]
    assert right_branching(1).tolist() == [0]


VECTORS = torch.from_numpy(np.random.default_rng(3).normal(size=(len(WORDS), 5)).astype(np.float32))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    sentences = made_up_trees(8)
    tables = made_up_tables(sentences)
    return sentences, tables, probe_data(sentences, on_disk(tmp_path_factory.mktemp("maps") / "maps", tables))


def scores(probe, run, table, words, head, dependent):
    seen = [table[head + 2, dependent + 2], table[dependent + 2, head + 2]]
    if probe.vectors is not None:
        seen += [VECTORS[WORDS.index(words[place])].numpy() for place in (head, dependent)]
    weights = probe.weights[run].detach().double().numpy()
    return np.concatenate(seen).astype(np.float64) @ weights + probe.bias[run].detach().double().numpy()


@pytest.mark.parametrize("vectors", [None, VECTORS], ids=["attention", "words"])
def test_labels_against_a_loop_over_arcs(vectors, made):
    sentences, tables, data = made
    names = kinds_of(sentences, relations=True)
    probe = LabelProbe(2, 3, len(names), vectors, seeds=(0, 1))
    batch = data.batch(data.numbers)
    judged = probe.judge(batch)
    rng = np.random.default_rng(0)
    chosen = torch.zeros((2, 8, 9), dtype=torch.int64)
    for item, sentence in enumerate(sentences):
        for run in range(2):
            heads = rng.integers(0, len(sentence) + 1, size=len(sentence))
            chosen[run, item, : len(sentence)] = torch.from_numpy(heads)
    answers = probe.answers(batch, chosen)
    for item, (sentence, table) in enumerate(zip(sentences, tables)):
        arcs = [(head - 1, word) for word, head in enumerate(sentence.heads.tolist()) if head]
        assert int(judged.counts[item]) == len(arcs)
        for run in range(2):
            loss = 0.0
            for head, word in arcs:
                found = scores(probe, run, table, sentence.words, head, word)
                gold = names.index(sentence.relations[word])
                loss += np.log(np.exp(found - found[gold]).sum())
            assert float(judged.loss[run, item].detach()) == pytest.approx(loss, rel=1e-4, abs=1e-4)
            for word in range(9):
                head = int(chosen[run, item, word])
                if word >= len(sentence) or head == 0:
                    assert int(answers[run, item, word]) == UNKNOWN
                else:
                    found = scores(probe, run, table, sentence.words, head - 1, word)
                    assert int(answers[run, item, word]) == found.argmax()


def test_arcs_from_the_root_bear_the_label_that_most_of_them_do():
    assert root_label(["root", "x", "root", "y", "x", "x"], [0, 3, 0, 0, 1, 1]) == "root"
    assert root_label(["b", "a"], [0, 0]) == "a"
    assert root_label([], []) == "root"
