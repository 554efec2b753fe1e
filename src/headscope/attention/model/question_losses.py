"""The loss of a model on each of some questions."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from headscope.attention.model.loss_source import decoders_of, lists_together, targets_of
from headscope.encoding.questions.loss_questions import NO_TARGET, Question
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.losses import asked_logits, segment_losses
from headscope.models.placement import device_of


def question_losses(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, questions: Sequence[Question], *, batch_size: int
) -> NDArray[np.float64]:
    """Return the cross entropy of each question, the mean over its targets, in nats, `[question]`.

    Args:
        model: a transformers model that returns logits of tokens.
        anatomy: result of `examine` for it, or for its base model.
        vocabulary: vocabulary of the tokenizer.
        questions: inputs with their targets.
        batch_size: maximum number of inputs computed together.
    """
    losses = np.zeros(len(questions))
    indices = {id(question): index for index, question in enumerate(questions)}
    by_length = sorted(questions, key=lambda question: len(question.segment))
    device = device_of(model)
    with torch.inference_mode():
        for start in range(0, len(by_length), batch_size):
            for together in lists_together(by_length[start : start + batch_size], anatomy):
                batch, inputs, decoder = model_inputs(
                    [question.segment for question in together],
                    anatomy,
                    vocabulary,
                    decoders=decoders_of(together, anatomy),
                )
                targets = targets_of(together, (batch if decoder is None else decoder).info).to(device)
                with asked_logits(model, targets != NO_TARGET):
                    on_device = {name: tensor.to(device) for name, tensor in inputs.items()}
                    logits = model(**on_device, **no_cache(anatomy)).logits
                scores = logits if logits.ndim == 2 else logits[targets != NO_TARGET]
                losses[[indices[id(question)] for question in together]] = (
                    segment_losses(scores, targets).double().cpu().numpy()
                )
    return losses
