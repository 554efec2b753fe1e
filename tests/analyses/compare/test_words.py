"""Attention between the words of two models, against loops; and permuted keys."""

import numpy as np
import torch

from headscope.analyses.compare.divergence import common_rows, with_keys_permuted
from headscope.encoding.batching import collate
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import Segment
from headscope.models.load_model import load_model


def info_of(word_ids):
    encoder = Encoder(load_model(None).tokenizer)
    ids = np.full(len(word_ids), 5)
    segment = Segment(
        document="one", index=0, ids=ids, token_types=np.zeros_like(ids), word_ids=np.array(word_ids, dtype=np.int64)
    )
    return collate([segment], encoder.vocabulary).info


def random_rows(heads, tokens, *, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(3 * torch.randn((heads, tokens, tokens), generator=generator), dim=-1)


def plain(weights, words, kept, *, causal):
    """Sum over the tokens of a word, mean over the tokens from it, the rest last."""
    out = np.zeros((len(weights), len(kept), len(kept) + 1))
    for head, own in enumerate(weights.numpy()):
        for at, word in enumerate(kept):
            row = np.mean([own[place] for place, each in enumerate(words) if each == word], axis=0)
            for to, other in enumerate(kept):
                if not causal or to <= at:
                    out[head, at, to] = sum(row[place] for place, each in enumerate(words) if each == other)
            out[head, at, -1] = 1 - out[head, at, :-1].sum()
    return out


def test_rows_are_those_of_the_words_that_both_have():
    words, others = [-1, 0, 0, 1, -1, 3, -1], [0, 1, 1, 1, 3, -1]
    left, right = random_rows(2, len(words), seed=1), random_rows(3, len(others), seed=2)
    tokens, other_tokens = info_of(words), info_of(others)
    for causal in (False, True):
        found = common_rows(left, right, (tokens, tokens), (other_tokens, other_tokens), item=0, causal=causal)
        for rows, weights, numbers in zip(found, (left, right), (words, others), strict=True):
            np.testing.assert_allclose(rows.numpy(), plain(weights, numbers, [0, 1, 3], causal=causal), atol=1e-6)


def test_a_learned_sink_belongs_to_the_rest():
    words = [0, 1, -1]
    weights = random_rows(2, 4, seed=3)[:, :3]  # the last key is the sink
    found, _ = common_rows(weights, weights, (info_of(words),) * 2, (info_of(words),) * 2, item=0, causal=False)
    np.testing.assert_allclose(found[..., -1].numpy(), 1 - found[..., :-1].sum(-1).numpy(), atol=1e-6)
    np.testing.assert_allclose(found[:, 0, 0].numpy(), weights[:, 0, 0].numpy(), atol=1e-6)


def test_keys_are_permuted_alike_in_all_heads_and_only_where_they_are_visible():
    rows = random_rows(3, 8, seed=4)
    for causal in (False, True):
        positions = np.arange(8)
        found = with_keys_permuted(rows, positions, causal=causal, seed=0, last=True)
        again = with_keys_permuted(rows[:, [6, 2]], positions[[6, 2]], causal=causal, seed=0, last=True)
        torch.testing.assert_close(again, found[:, [6, 2]])
        torch.testing.assert_close(found[..., -1], rows[..., -1])
        torch.testing.assert_close(found.sort(-1).values, rows.sort(-1).values)
        assert not torch.equal(found[:, 6], rows[:, 6])
        order = [torch.searchsorted(each[6].sort().values, each[6]) for each in found]
        moved = (found[0, 6][:, None] == rows[0, 6][None]).float().argmax(1)
        assert torch.equal(found[1, 6], rows[1, 6][moved]), order
        if causal:
            torch.testing.assert_close(found[:, 2, 3:], rows[:, 2, 3:])
