"""Targets of causal language modeling, by a plain loop and by transformers' own loss."""

import numpy as np
import pytest
import torch
import transformers as tf

from headscope_train.next_tokens import NextTokens
from headscope_train.packed_corpus import PackedInputs
from headscope_train.scores import asked_scores, loss_and_hits
from support.tiny_models import CONFIGS

ORDINARY = np.arange(90) >= 5


def packed(lengths, *, seed=0):
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return PackedInputs(
        ids=rng.integers(5, 90, starts[-1]).astype(np.int32),
        types=np.zeros(starts[-1], dtype=np.uint8),
        starts=starts,
        documents=np.arange(len(lengths)),
        keys=rng.integers(0, 2**63, len(lengths)).astype(np.uint64),
        hash="",
        read=len(lengths),
        left_out={},
    )


def test_a_batch_by_a_plain_loop():
    inputs, places = packed([6, 11, 3]), np.array([1, 0, 2])
    batch = NextTokens(ORDINARY, pad=1).batch(inputs, places, epoch=4)
    asked, targets, rows = [], [], []
    for row, place in enumerate(places):
        ids = inputs.of(int(place))[0].tolist()
        assert batch.ids[row].tolist() == ids + [1] * (11 - len(ids))
        assert batch.valid[row].tolist() == [1] * len(ids) + [0] * (11 - len(ids))
        for at in range(len(ids) - 1):
            asked.append((row, at))
            targets.append(ids[at + 1])
            rows.append(row)
    assert [divmod(int(place), 11) for place in batch.positions] == asked
    assert batch.targets.tolist() == targets
    assert batch.inputs.tolist() == rows
    assert batch.tokens == 20


def test_passages_are_repeated_in_a_share_of_the_inputs_anew_in_each_epoch():
    inputs, places = packed([40] * 400), np.arange(400)
    question = NextTokens(ORDINARY, pad=1, repeated=0.25)
    own = torch.from_numpy(inputs.ids.reshape(400, 40).astype(np.int64))
    changed = []
    for epoch in (0, 1):
        batch = question.batch(inputs, places, epoch=epoch)
        changed.append((batch.ids != own).any(1).numpy())
        # Whatever the input shows, the target is the next token.
        assert torch.equal(batch.ids.flatten()[batch.positions + 1], batch.targets)
        # The first occurrences of random tokens are not targets.
        assert len(batch.targets) < 400 * 39
    assert 0.18 < changed[0].mean() < 0.32
    assert 0.02 < (changed[0] & changed[1]).mean() < 0.12
    # Measuring uses unchanged inputs; the draw does not depend on the batch.
    assert torch.equal(question.batch(inputs, places, epoch=None).ids, own)
    alone = question.batch(inputs, places[7:8], epoch=1)
    assert torch.equal(alone.ids[0], question.batch(inputs, places, epoch=1).ids[7])


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox", "qwen3", "gemma2"])
def test_the_loss_is_transformers_own(family):
    torch.manual_seed(1)
    model = tf.AutoModelForCausalLM.from_config(CONFIGS[family]()).float().eval()
    inputs, places = packed([9, 5, 2]), np.arange(3)
    batch = NextTokens(ORDINARY, pad=1).batch(inputs, places, epoch=0)
    labels = batch.ids.masked_fill(batch.valid == 0, -100)
    with torch.no_grad():
        losses, _ = loss_and_hits(asked_scores(model, batch, types=False), batch.targets)
        own = model(input_ids=batch.ids, attention_mask=batch.valid, labels=labels).loss
    assert losses.mean().item() == pytest.approx(own.item(), abs=1e-6)
