"""The inputs that may share a batch: a model's weights for each input alone, compared with a padded batch of both."""

from typing import Any

import torch
from torch import Tensor

from headscope.attention.model.trial_batch import DECODER_LENGTHS, LENGTHS, ROW_TOLERANCE, TrialBatch, in_a_line
from headscope.errors import ModelError
from headscope.models.anatomy import Together
from headscope.models.loading.refusals import WORKING_FAMILIES
from headscope.models.temporary_changes import eager_evaluation

_TOLERANCE = 1e-4  # another batch shape changes float32 weights by at most 1e-5


def which_together(trial: TrialBatch, expected: dict[str, list[Tensor]]) -> Together:
    """Return the inputs that may share a batch, from a comparison of each input alone with the padded batch.

    Args:
        trial: the padded batch.
        expected: the padded batch's eager weights.
    """
    _check_short(trial)
    alone = [trial.weights(_only(trial, [item])) for item in range(len(LENGTHS))]
    if all(_same(trial, item, expected, item, weights) for item, weights in enumerate(alone)):
        # The keys that an indexer chooses are often tied, and a wider batch breaks ties differently; with as few tokens
        # as here it keeps all keys.
        chooses = any("Indexer" in type(module).__name__ for module in trial.model.modules())
        return "equal" if chooses else "padded"
    # Run the short input together with another one of its length: a copy of itself, reversed.
    short = len(LENGTHS) - 1
    twice = _only(trial, [short, short])
    for name in ("input_ids", "decoder_input_ids"):
        if name in twice:
            twice[name] = torch.stack([twice[name][0], twice[name][1].flip(0)])
    return "equal" if _same(trial, 0, trial.weights(twice), short, alone[short]) else "alone"


def _check_short(trial: TrialBatch) -> None:
    """Refuse a model that fails on a short input (CANINE pools over four characters): every text has some.

    Raises:
        ModelError: an input of two tokens cannot be read.
    """
    short = {name: value[:1, :2] if isinstance(value, Tensor) else value for name, value in trial.inputs.items()}
    try:
        with eager_evaluation(trial.model), torch.inference_mode():
            trial.model(**short)
    except Exception as error:
        raise ModelError(
            f"{type(trial.model).__name__} cannot be run on an input of two tokens ({in_a_line(error)}); "
            f"expected a model that reads inputs of any length; these families work: {WORKING_FAMILIES}"
        ) from error


def _only(trial: TrialBatch, items: list[int]) -> dict[str, Any]:
    """Return the model's arguments for inputs of one length, without padding."""
    sides = {"": LENGTHS, "decoder_": DECODER_LENGTHS}
    return {
        name: value[items, : sides["decoder_" if name.startswith("decoder_") else ""][items[0]]]
        if isinstance(value, Tensor)
        else value
        for name, value in trial.inputs.items()
    }


def _same(
    trial: TrialBatch, index: int, batch_weights: dict[str, list[Tensor]], item: int, alone: dict[str, list[Tensor]]
) -> bool:
    """Return True if an input's weights at a position of a batch equal its weights `alone`."""
    for kind, layers in alone.items():
        rows, keys = (int(side.lengths[item]) for side in (trial.queries(kind), trial.keys(kind)))
        for layer, weights in enumerate(layers):
            theirs = batch_weights[kind][layer][index, :, :rows, :keys]
            if theirs.shape != weights.shape[1:] or not float((theirs - weights[0]).abs().max()) < (
                _TOLERANCE if weights.dtype in (torch.float32, torch.float64) else ROW_TOLERANCE
            ):
                return False
    return True
