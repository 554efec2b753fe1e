"""Evaluation on held-out tokens, with an interval over documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import ratio_interval
from headscope_train.objectives.objective import Question
from headscope_train.packed_corpus import PackedInputs
from headscope_train.scores import asked_scores, loss_and_hits

MEASURES = ("loss", "accuracy")


@dataclass(frozen=True)
class HeldOut:
    """Mean over the held-out target tokens: `loss` in nats, `accuracy` a fraction; bounds NaN below 10 documents."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: int


def measure_held_out(
    model: Any,
    inputs: PackedInputs,
    places: NDArray[np.int64],
    question: Question,
    *,
    batch_size: int,
    types: bool,
    precision: Any,
) -> HeldOut:
    """Score the model on tokens of the held-out inputs, which are the same in every evaluation.

    Args:
        model: model with a language-model head; in training mode again afterwards.
        inputs: the corpus.
        places: indices of the held-out inputs.
        question: choice of the tokens to predict.
        batch_size: number of inputs computed together.
        types: True if the model takes token types.
        precision: context manager for the computation, such as autocast.

    Returns:
        Loss and accuracy, `[measure]`, with 95% intervals over documents.
    """
    _, document = np.unique(inputs.documents[places], return_inverse=True)
    sums = np.zeros((int(document.max()) + 1, len(MEASURES)))
    counts = np.zeros((len(sums), 1))
    device = next(model.parameters()).device
    order = np.argsort(-inputs.lengths[places], kind="stable")
    model.eval()
    with torch.inference_mode(), precision:
        for start in range(0, len(order), batch_size):
            part = order[start : start + batch_size]
            batch = question.batch(inputs, places[part], epoch=None).to(device)
            losses, hits = loss_and_hits(asked_scores(model, batch, types=types), batch.targets)
            whose = document[part][batch.inputs]
            np.add.at(sums[:, 0], whose, losses.double().cpu().numpy())
            np.add.at(sums[:, 1], whose, hits.double().cpu().numpy())
            np.add.at(counts[:, 0], whose, 1)
    model.train()
    loss = ratio_interval(sums[:, 0], counts[:, 0], scale="positive")
    accuracy = ratio_interval(sums[:, 1], counts[:, 0], scale="share")
    value, low, high = (np.stack([getattr(loss, name), getattr(accuracy, name)]) for name in ("value", "low", "high"))
    return HeldOut(value, low, high, int(counts.sum()))
