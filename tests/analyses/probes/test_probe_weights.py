"""Weights of heads: the mean over gold arcs, arc by arc."""

import numpy as np
import torch

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe, AttentionWordsProbe
from headscope.analyses.probes.score_rows import gold_arcs, weight_rows
from headscope.analyses.probes.tables import PROBE_WEIGHTS
from headscope.attention.head_id import HeadId
from support.probe_data import WORDS, made_up_trees, probe_data

VECTORS = torch.from_numpy(np.random.default_rng(3).normal(size=(len(WORDS), 4)).astype(np.float32))


def test_attention_alone_has_one_weight_a_head():
    probe = AttentionProbe((0, 0, 1), 3, special=True, seeds=(0, 1, 2))
    wanted = (probe.weights[0] + probe.weights[1]).detach().numpy() / 2
    nothing = np.zeros(0, dtype=np.int64)
    np.testing.assert_allclose(probe.head_weights((0, 1), (nothing, nothing)), wanted, rtol=1e-6)


def test_with_words_it_is_the_mean_over_gold_arcs():
    sentences = made_up_trees(9)
    words = probe_data(sentences, None).words
    probe = AttentionWordsProbe((0, 0), 3, VECTORS, special=True, seeds=(0, 1))
    with torch.no_grad():
        probe.bias.add_(torch.arange(12).view(2, 2, 3))
    given = []
    for sentence in sentences:
        for word, head in enumerate(sentence.heads.tolist()):
            if head:
                candidate, dependent = (VECTORS[WORDS.index(sentence.words[at])] for at in (head - 1, word))
                share = torch.einsum("w,rdwk->rdk", candidate, probe.weights[:, 0].detach())
                share = share + torch.einsum("w,rdwk->rdk", dependent, probe.weights[:, 1].detach())
                given.append((share + probe.bias.detach()).mean(0).numpy())
    found = probe.head_weights((0, 1), gold_arcs(sentences, words))
    np.testing.assert_allclose(found, np.mean(given, axis=0), rtol=1e-4, atol=1e-5)


def test_rows_name_heads_and_directions():
    weights = np.arange(4.0).reshape(2, 2)
    heads = [HeadId("encoder", 1, 1), HeadId("decoder", 2, 3)]
    table = weight_rows("attention", weights, heads)
    assert list(table.columns) == PROBE_WEIGHTS.names
    assert table.to_numpy().tolist() == [
        ["attention", "encoder", 1, 1, "head->dependent", 0.0],
        ["attention", "encoder", 1, 1, "dependent->head", 2.0],
        ["attention", "decoder", 2, 3, "head->dependent", 1.0],
        ["attention", "decoder", 2, 3, "dependent->head", 3.0],
    ]
