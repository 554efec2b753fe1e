"""Attention of generated text as `generate` returns it: a tuple of steps, each a tuple of layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import AttentionError


@dataclass(frozen=True, eq=False)
class JoinedSteps:
    """The steps of a text as whole maps.

    Attributes:
        layers: the rows of all steps, `[head, query, key]` per layer; keys that a row did not see are 0.
        prompt: number of tokens that the model read in its first step.
    """

    layers: list[NDArray[np.float32]]
    prompt: int


def are_steps(attention: Any) -> bool:
    """Return True if attention is a sequence of steps, each a sequence of layers, instead of a sequence of layers."""
    return (
        isinstance(attention, tuple | list)
        and len(attention) > 0
        and all(isinstance(step, tuple | list) for step in attention)
        and all(layer is None or len(getattr(layer, "shape", ())) == 4 for step in attention for layer in step)
    )


def join_steps(
    steps: Sequence[Sequence[Any]],
    *,
    kind: str,
    to_array: Callable[[Any, int, str], NDArray[np.float32]],
    not_kept: str,
) -> JoinedSteps:
    """Join the attention that `generate(output_attentions=True, return_dict_in_generate=True)` returns.

    The first step has a row for each token of the prompt, each later step one row, for the token generated before. The
    last generated token is never read, and has no row.

    Args:
        steps: a tensor `[1, head, query, key]` for each step and layer.
        kind: `encoder`, `decoder` or `cross`; the keys of `cross` are the same in every step.
        to_array: converts a layer to an array, `[head, query, key]`.
        not_kept: advice for the error message if the model kept no weights.

    Raises:
        AttentionError: weights are missing, of several texts, or of several rows in a later step.
    """
    if any(not step or any(layer is None for layer in step) for step in steps):
        raise AttentionError(f"there are no weights in {kind} attention; {not_kept}")
    for number, step in enumerate(steps, 1):
        if len(step) != len(steps[0]) or len({tuple(layer.shape[:3]) for layer in step}) > 1:
            raise AttentionError(
                f"step {number} of {kind} attention has {len(step)} layers of the shapes "
                f"{', '.join(sorted({str(tuple(layer.shape)) for layer in step}))}; expected as many as step 1 "
                f"({len(steps[0])}), with the same heads and rows: what generate returns as attentions"
            )
        if (texts := int(step[0].shape[0])) != 1:
            raise AttentionError(
                f"{kind} attention is what generate returns for {texts} texts (inputs, beams or returned sequences); "
                "expected one: call generate with one input, num_beams=1 and num_return_sequences=1"
            )
    prompt, number = int(steps[0][0].shape[2]), len(steps)
    layers = []
    for layer in range(len(steps[0])):
        arrays = [to_array(step[layer], layer, kind) for step in steps]
        n_keys = arrays[0].shape[2] if kind == "cross" else prompt + number - 1
        joined = np.zeros((arrays[0].shape[0], prompt + number - 1, n_keys), dtype=np.float32)
        for index, array in enumerate(arrays):
            n_read = n_keys if kind == "cross" else prompt + index
            rows = _rows(array, index, n_read, kind)
            joined[:, prompt + index - rows.shape[1] : prompt + index, n_read - rows.shape[2] : n_read] = rows
        layers.append(joined)
    return JoinedSteps(layers, prompt)


def _rows(array: NDArray[np.float32], step: int, n_read: int, kind: str) -> NDArray[np.float32]:
    """Return the new rows of a step over the keys that it read, `[head, query, key]`."""
    if array.shape[2] > n_read:  # a cache of fixed size has room for later keys
        if array[:, :, n_read:].any():
            raise AttentionError(
                f"step {step + 1} of {kind} attention has weight on keys beyond the {n_read} tokens that were read; "
                "expected what generate returns as attentions"
            )
        array = array[:, :, :n_read]
    if step == 0 or array.shape[1] == 1:
        return array
    if array.shape[1] == n_read and kind != "cross":  # without a cache all rows are computed again
        return array[:, -1:]
    raise AttentionError(
        f"step {step + 1} of {kind} attention has {array.shape[1]} rows; expected one, that of the token that was read "
        "last: call generate without an assistant model"
    )
