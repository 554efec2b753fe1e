"""The targets of causal language modeling: the next token, at every position."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope_train.batches import TargetBatch
from headscope_train.packed_corpus import PackedInputs
from headscope_train.repeated_passages import repeat_something
from headscope_train.training_masks import ordinary_pieces


@dataclass(frozen=True)
class NextTokens:
    """Choose every token but an input's first as a target.

    Attributes:
        ordinary: True for ids of text, False for special tokens, `[id]`.
        pad: id of the padding token.
        repeated: share of the inputs with a repeated passage, redrawn in each epoch; 0 in evaluation.
    """

    ordinary: NDArray[np.bool_]
    pad: int
    repeated: float = 0.0

    @classmethod
    def of(cls, tokenizer: Any, *, repeated: float = 0.0) -> "NextTokens":
        """Read the ids from a transformers tokenizer."""
        return cls(ordinary_pieces(tokenizer), int(tokenizer.pad_token_id or 0), repeated)

    def batch(self, inputs: PackedInputs, places: NDArray[np.int64], *, epoch: int | None) -> TargetBatch:
        """Return inputs padded on the right; `positions` are those of the token before each target."""
        width = int(inputs.lengths[places].max())
        ids = np.full((len(places), width), self.pad, dtype=np.int64)
        valid = np.zeros_like(ids)
        positions, targets, rows = [], [], []
        for row, index in enumerate(places.tolist()):
            ids_of_input, _ = inputs.of(index)
            ids_of_input, may_be = self._drawn(ids_of_input, key=int(inputs.keys[index]), epoch=epoch)
            ids[row, : len(ids_of_input)], valid[row, : len(ids_of_input)] = ids_of_input, 1
            next_ones = 1 + np.flatnonzero(may_be[1:])
            positions.append(row * width + next_ones - 1)
            targets.append(ids_of_input[next_ones].astype(np.int64))
            rows.append(np.full(len(next_ones), row))
        return TargetBatch(
            torch.from_numpy(ids),
            torch.zeros(ids.shape, dtype=torch.long),
            torch.from_numpy(valid),
            torch.from_numpy(np.concatenate(positions)),
            torch.from_numpy(np.concatenate(targets)),
            np.concatenate(rows),
        )

    def _drawn(
        self, ids: NDArray[np.int32], *, key: int, epoch: int | None
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Repeat a passage or not, depending only on the input's key and the epoch, as for masks."""
        if epoch is None or not self.repeated:
            return ids, np.ones(len(ids), dtype=np.bool_)
        generator = np.random.Generator(np.random.Philox(key=np.array([key, epoch], dtype=np.uint64)))
        if generator.random() >= self.repeated:
            return ids, np.ones(len(ids), dtype=np.bool_)
        ids_of_input = np.flatnonzero(self.ordinary[ids])
        between = np.arange(ids_of_input[0], ids_of_input[-1] + 1) if len(ids_of_input) else ids_of_input
        return repeat_something(ids, self.ordinary, between, generator=generator)
