"""The loss of questions in padded batches, against transformers' own code on one input at a time."""

import numpy as np
import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.attention.model.loss_source import question_losses
from headscope.encoding.loss_questions import NextToken
from headscope.models.losses import ask_of, loss_of
from support.by_hook import logs_of
from support.inputs import made_up_segments, vocabulary
from support.task_models import tiny_task_model, tokenizer_of


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_every_question_has_its_mean_cross_entropy(family):
    model = tiny_task_model(family, dtype=torch.float64)
    anatomy = examine(getattr(model, "base_model", model), vocabulary())
    loss = loss_of(anatomy)
    ask = NextToken() if loss == "clm" else ask_of(loss, tokenizer_of(family), anatomy)
    questions = [each for each in map(ask, made_up_segments(7, seed=5, longest=14)) if each is not None]
    expected = []
    for question in questions:
        right = torch.from_numpy(question.targets[question.targets >= 0])[:, None]
        expected.append(-float(logs_of(model, anatomy, question).gather(1, right).mean()))
    for batch_size in (1, 3, 7):
        losses = question_losses(model, anatomy, vocabulary(), questions, batch_size=batch_size)
        np.testing.assert_allclose(losses, expected, rtol=1e-6)
