"""Sum the divergences of the attention in one half of the documents from the predictions of the other half's fits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.example_rows import example_rows
from headscope.analyses.explanation.head_explanation import HeadExplanation
from headscope.analyses.explanation.order import Step
from headscope.analyses.explanation.row_block import Floats, RowBlock
from headscope.analyses.explanation.sample import RowSample


def measure_fit(
    sample: RowSample,
    results: Sequence[HeadExplanation],
    coefficients: Floats,
    blocks: Sequence[RowBlock],
    targets: Sequence[Floats],
    of_layer: int,
    *,
    examples: bool,
) -> None:
    """Add the divergences of a half's rows from the full fit to the sums by document."""
    for block, target in zip(blocks, targets, strict=True):
        logs = _log_probabilities(block, block.logits(coefficients))
        terms = _row_terms(target)
        of_rows = terms - (target * logs).sum(1)
        mass = target.sum(1, dtype=np.float64)
        most = mass * np.log(np.maximum(block.visible.sum(1), 1))[:, None]
        uniform = terms + most
        documents = sample.documents[block.rows]
        counted = mass > 0
        for number, result in enumerate(results):
            np.add.at(result.to_explain, documents, uniform[:, number])
            np.add.at(result.left, documents, of_rows[:, number])
            result.n_rows += int(counted[:, number].sum())
            result.uniform += float(most[:, number].sum())
            result.mass += float(mass[:, number].sum())
        for start in range(0, len(results), of_layer):
            layer = slice(start, start + of_layer)
            crossed = np.tensordot(target[..., layer], logs[..., layer], axes=((0, 1), (0, 1)))
            own_terms = terms[:, layer].sum(0)
            for number, result in enumerate(results[layer]):
                result.wrong += own_terms[number] - crossed[number]
        if examples:
            for number, result in enumerate(results):
                result.examples += example_rows(
                    of_rows[:, number], uniform[:, number], target[..., number], logs[..., number], block, documents
                )


def measure_steps(
    sample: RowSample,
    results: Sequence[HeadExplanation],
    orders: Sequence[Sequence[Step]],
    blocks: Sequence[RowBlock],
    targets: Sequence[Floats],
) -> None:
    """Add the gain of each group on a half's rows to the sums by document."""
    for result, steps in zip(results, orders, strict=True):
        for step in steps:
            result.gained.setdefault(step.group, np.zeros(len(sample.names)))
    for block, target in zip(blocks, targets, strict=True):
        documents = sample.documents[block.rows]
        nothing = np.zeros((len(block.features), len(results)), np.float32)
        before = block.cross_entropy(target, nothing)
        added: list[Floats] = []
        for number in range(max((len(steps) for steps in orders), default=0)):
            open_heads = [head for head, steps in enumerate(orders) if len(steps) > number]
            added.append(nothing.copy())
            by_group: dict[str, list[int]] = {}
            for head in open_heads:
                by_group.setdefault(orders[head][number].group, []).append(head)
            for group, heads in by_group.items():
                coefficients = np.stack([orders[head][number].coefficients for head in heads], axis=1)
                added[-1][:, heads] = block.logits(coefficients, sample.columns.groups[group])
            scales = np.array([orders[head][number].scales for head in open_heads], np.float32)
            logits = sum(step[:, open_heads] * scale for step, scale in zip(added, scales.T, strict=True))
            after = block.cross_entropy(target[..., open_heads], np.asarray(logits))
            for index, head in enumerate(open_heads):
                gained = results[head].gained[orders[head][number].group]
                np.add.at(gained, documents, (before[:, head] - after[:, index]).astype(np.float64))
            before[:, open_heads] = after


def _log_probabilities(block: RowBlock, logits: Floats) -> NDArray[np.float64]:
    """Compute the logarithm of a prediction, 0 in cells that do not count, `[row, key, head]`."""
    shape = (*block.visible.shape, logits.shape[-1])
    _, logs = block.probabilities(logits)
    values = logits.reshape(shape).astype(np.float64) - logs[:, None]
    return np.where(block.visible[..., None], values, 0.0)


def _row_terms(target: Floats) -> NDArray[np.float64]:
    """Compute sum(w ln w) - m ln m for the weights w of each row's keys and their sum m, `[row, head]`."""
    weights = target.astype(np.float64)
    mass = weights.sum(1)
    terms = (weights * np.log(np.where(weights > 0, weights, 1.0))).sum(1)
    return np.asarray(terms - mass * np.log(np.where(mass > 0, mass, 1.0)))
