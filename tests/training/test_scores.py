"""Scores at the targets equal those of the whole model, in every family."""

import numpy as np
import pytest
import torch
import transformers as tf

from headscope_train.batches import TargetBatch
from headscope_train.scores import asked_scores, loss_and_hits
from headscope_train.start import set_dropout, takes_types
from support.tiny_models import CONFIGS, VOCABULARY

FAMILIES = (
    *("bert", "distilbert", "roberta", "xlm-roberta", "camembert", "electra", "albert", "modernbert"),
    *("deberta-v2", "mpnet"),
)


def batch_of(seed=0):
    generator = torch.Generator().manual_seed(seed)
    valid = torch.ones(3, 9, dtype=torch.long)
    valid[1, 6:] = valid[2, 4:] = 0
    ids = torch.randint(5, VOCABULARY, (3, 9), generator=generator).masked_fill(valid == 0, 1)
    types = torch.randint(0, 2, (3, 9), generator=generator) * valid
    asked = torch.tensor([1, 4, 8, 10, 14, 19, 21])
    return TargetBatch(ids, types, valid, asked, ids.flatten()[asked], np.array([0, 0, 0, 1, 1, 2, 2]))


@pytest.mark.parametrize("family", FAMILIES)
def test_cut_scores_are_the_whole_models(family):
    torch.manual_seed(1)
    config = CONFIGS[family]()
    config.pad_token_id = 1
    model = tf.AutoModelForMaskedLM.from_config(config).float().eval()
    batch = batch_of()
    types = takes_types(model)
    assert types is (family not in ("distilbert", "modernbert", "deberta-v2", "mpnet"))
    given = {"token_type_ids": batch.types} if types else {}
    with torch.no_grad():
        whole = model(input_ids=batch.ids, attention_mask=batch.valid, **given).logits
        cut = asked_scores(model, batch, types=types)
        after = model(input_ids=batch.ids, attention_mask=batch.valid, **given).logits
    assert cut.shape == (7, VOCABULARY)
    assert torch.allclose(cut, whole.reshape(-1, VOCABULARY)[batch.positions], atol=1e-6)
    assert torch.equal(whole, after)  # the model is unchanged


def test_loss_and_hits_by_hand():
    scores = torch.tensor([[0.0, np.log(3.0)], [2.0, 2.0 + np.log(4.0)]])
    losses, hits = loss_and_hits(scores.float(), torch.tensor([1, 0]))
    assert losses.tolist() == pytest.approx([-np.log(3 / 4), -np.log(1 / 5)])
    assert hits.tolist() == [True, False]


@pytest.mark.parametrize("family", ["bert", "distilbert", "modernbert", "deberta-v2"])
def test_dropout_is_set_everywhere(family):
    config = CONFIGS[family]()
    config.pad_token_id = 1
    if family == "modernbert":
        config.attention_dropout = 0.3
    torch.manual_seed(0)
    model = tf.AutoModelForMaskedLM.from_config(config).float().train()
    batch = batch_of()

    def twice():
        with torch.no_grad():
            return [asked_scores(model, batch, types=False) for _ in range(2)]

    one, other = twice()
    assert not torch.equal(one, other)
    set_dropout(model, 0.0)
    one, other = twice()
    assert torch.equal(one, other)
    set_dropout(model, 0.5)
    one, other = twice()
    assert not torch.equal(one, other)
