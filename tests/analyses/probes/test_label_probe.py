"""Labels of arcs: which attention and words they are read off, and what roots get."""

import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers.decoding import LabelProbe, root_label
from headscope.analyses.probes.tree_sentences import UNKNOWN, kinds_of
from support.probe_data import WORDS, made_up_tables, made_up_trees, on_disk, probe_data

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
