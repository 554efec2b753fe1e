"""Batches of an epoch in random order, and their masked inputs as tensors."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope_train.packed_corpus import PackedInputs
from headscope_train.training_masks import Masker

_WINDOW = 32  # number of batches whose inputs are sorted by length together


class Batches:
    """The inputs in the batch of each step.

    Every epoch reshuffles the inputs, sorts windows of 32 batches by length to reduce padding, and shuffles the
    batches. The order depends only on the seed and the step, so that resuming needs no other state.

    Args:
        lengths: number of tokens of each input of the corpus, `[input]`.
        places: indices of the inputs to train on.
        size: number of inputs in a batch.
        seed: seed of the orders.
    """

    def __init__(self, lengths: NDArray[np.int64], places: NDArray[np.int64], *, size: int, seed: int) -> None:
        self.lengths = lengths
        self.places = places
        self.size = size
        self.seed = seed
        self.in_epoch = -(-len(places) // size)
        self._epoch = -1
        self._batches: list[NDArray[np.int64]] = []

    def at(self, step: int) -> tuple[int, NDArray[np.int64]]:
        """Return the epoch, from 0, and the indices of the inputs of a step, counted from 0."""
        epoch, number = divmod(step, self.in_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._ordered(epoch)
        return epoch, self._batches[number]

    def _ordered(self, epoch: int) -> list[NDArray[np.int64]]:
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(self.places)
        batches = []
        for start in range(0, len(order), _WINDOW * self.size):
            window = order[start : start + _WINDOW * self.size]
            window = window[np.argsort(-self.lengths[window], kind="stable")]
            batches += [window[at : at + self.size] for at in range(0, len(window), self.size)]
        return [batches[index] for index in generator.permutation(len(batches))]


@dataclass(frozen=True)
class TargetBatch:
    """Inputs with the targets of a loss, padded on the right.

    Attributes:
        ids: token ids as the model sees them, `[batch, position]`.
        types: token types, `[batch, position]`.
        valid: 1 for tokens, 0 for padding, `[batch, position]`.
        positions: ascending positions in the flattened batch whose scores are needed, `[target]`: the masked tokens, or
            the tokens before those to predict.
        targets: the right answers, `[target]`.
        inputs: the row of each target, `[target]`.
    """

    ids: Tensor
    types: Tensor
    valid: Tensor
    positions: Tensor
    targets: Tensor
    inputs: NDArray[np.int64]

    @property
    def tokens(self) -> int:
        """Number of tokens without padding."""
        return int(self.valid.sum())

    def to(self, device: torch.device) -> "TargetBatch":
        """Return the batch on a device."""
        if device.type == "cpu":
            return self
        tensors = ("ids", "types", "valid", "positions", "targets")
        return replace(self, **{name: getattr(self, name).to(device) for name in tensors})


def masked_batch(
    inputs: PackedInputs, places: NDArray[np.int64], masker: Masker, *, epoch: int | None, pad: int
) -> TargetBatch:
    """Mask and pad inputs.

    Args:
        inputs: the corpus.
        places: indices of the inputs.
        masker: draws the masks.
        epoch: epoch of the masks; None for evaluation.
        pad: id of the padding token.
    """
    width = int(inputs.lengths[places].max())
    ids = np.full((len(places), width), pad, dtype=np.int64)
    types, valid = np.zeros_like(ids), np.zeros_like(ids)
    positions, targets, rows = [], [], []
    for row, index in enumerate(places.tolist()):
        ids_of_input, own_types = inputs.of(index)
        shown, chosen = masker.draw(ids_of_input, key=int(inputs.keys[index]), epoch=epoch)
        ids[row, : len(ids_of_input)], types[row, : len(ids_of_input)], valid[row, : len(ids_of_input)] = (
            shown,
            own_types,
            1,
        )
        positions.append(row * width + chosen)
        targets.append(ids_of_input[chosen].astype(np.int64))
        rows.append(np.full(len(chosen), row))
    return TargetBatch(
        torch.from_numpy(ids),
        torch.from_numpy(types),
        torch.from_numpy(valid),
        torch.from_numpy(np.concatenate(positions)),
        torch.from_numpy(np.concatenate(targets)),
        np.concatenate(rows),
    )
