"""The explanation of a head: divergences of the attention in one half of the documents from the other half's fits."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headscope.analyses.explanation.fit import Problem
from headscope.analyses.explanation.order import Step, step_logits
from headscope.analyses.explanation.row_block import Doubles, Floats, Integers, RowBlock
from headscope.analyses.explanation.sample import RowSample
from headscope.analyses.explanation.tables import BEST, PREDICTIONS, WORST

MOST_WORST = 2
"""Number of worst-predicted rows that are kept, each from a different document; one best-predicted row is kept."""
_DECIMALS = 6
_TINY = np.finfo(np.float64).tiny  # of which a share of 0 has a finite logarithm


@dataclass(frozen=True, eq=False)
class ExampleRow:
    """A row with its prediction, fitted to the other half of the documents.

    Attributes:
        prediction: one of `PREDICTIONS`, the reason why the row is an example.
        row: number of the row in the sample.
        document: number of the row's document.
        left, to_explain: KL(attention || prediction) and KL(attention || uniform), in nats.
        cells: cells of the sample in which the row sees a key, `[key]`.
        attention, predicted: attention and predicted attention in each of these cells, `[key]`.
    """

    prediction: str
    row: int
    document: int
    left: float
    to_explain: float
    cells: Integers
    attention: Floats
    predicted: Floats

    @property
    def explained(self) -> float:
        """The explained share of this row alone, which may be far below 0."""
        return 1 - self.left / self.to_explain


@dataclass(eq=False)
class HeadExplanation:
    """The explanation of one head by one measure.

    Attributes:
        to_explain: sum of KL(attention || uniform) over the rows of each document, times the attention on the keys that
            count, `[document]`.
        uniform: sum of the entropy of uniform attention over all rows, with the same weights, nats.
        mass: sum of the attention on the keys that count over all rows.
        left: sum of KL(attention || prediction) of the full fit, with the same weights, `[document]`.
        gained: gain of each group over the groups before it, by group, `[document]`.
        steps: the groups in the order of each half of the documents, or of all documents if there are too few to halve.
        wrong: KL(attention || prediction of each head of the layer), sum over rows, `[head]`; includes the head itself.
        n_rows: number of rows.
        coefficients: coefficients of the full fit of each half, `[half, column]`.
        positions: coefficients of the fit of positions alone, `[half, column]`, where it was made.
        differences: mean of each column under the attention minus its mean under uniform attention, `[half, column]`.
        examples: rows that are predicted best and worst, where examples are kept.
    """

    to_explain: Doubles
    left: Doubles
    wrong: Doubles
    gained: dict[str, Doubles] = field(default_factory=dict)
    steps: list[list[Step]] = field(default_factory=list)
    n_rows: int = 0
    uniform: float = 0.0
    mass: float = 0.0
    coefficients: list[Floats] = field(default_factory=list)
    positions: list[Floats] = field(default_factory=list)
    differences: list[Floats] = field(default_factory=list)
    examples: list[ExampleRow] = field(default_factory=list)

    def add(self, other: "HeadExplanation") -> None:
        """Add the sums and lists of the other half of the documents."""
        for group, gain in other.gained.items():
            self.gained[group] = self.gained[group] + gain if group in self.gained else gain
        for name in vars(self).keys() - {"gained"}:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def measure_fit(
    sample: RowSample, results: Sequence[HeadExplanation], coefficients: Floats, half: Problem, of_layer: int, *,
    examples: bool,
) -> None:  # fmt: skip
    """Add the divergences of a half's rows from the full fit to the sums by document."""
    for block, target in zip(half.blocks, half.targets, strict=True):
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
            if examples:
                result.examples += example_rows(
                    of_rows[:, number], uniform[:, number], target[..., number], logs[..., number], block, documents
                )
        for start in range(0, len(results), of_layer):
            layer = slice(start, start + of_layer)
            crossed = np.tensordot(target[..., layer], logs[..., layer], axes=((0, 1), (0, 1)))
            own_terms = terms[:, layer].sum(0)
            for number, result in enumerate(results[layer]):
                result.wrong += own_terms[number] - crossed[number]


def measure_steps(
    sample: RowSample, results: Sequence[HeadExplanation], orders: Sequence[Sequence[Step]], half: Problem
) -> None:
    """Add the gain of each group on a half's rows to the sums by document."""
    groups, heads = sample.columns.groups, len(results)
    for block, target in zip(half.blocks, half.targets, strict=True):
        documents = sample.documents[block.rows]
        before = block.cross_entropy(target, step_logits(block, {}, groups, heads))
        added: list[Floats] = []
        for number in range(max(map(len, orders), default=0)):
            now = {head: steps[number] for head, steps in enumerate(orders) if len(steps) > number}
            added.append(step_logits(block, now, groups, heads))
            open_heads = list(now)
            scales = np.array([step.scales for step in now.values()], np.float32)
            logits = sum(step[:, open_heads] * scale for step, scale in zip(added, scales.T, strict=True))
            after = block.cross_entropy(target[..., open_heads], np.asarray(logits))
            for index, (head, step) in enumerate(now.items()):
                gain = (before[:, head] - after[:, index]).astype(np.float64)
                np.add.at(results[head].gained.setdefault(step.group, np.zeros(len(sample.names))), documents, gain)
            before[:, open_heads] = after


def _log_probabilities(block: RowBlock, logits: Floats) -> Doubles:
    """Compute the logarithm of a prediction, 0 in cells that do not count, `[row, key, head]`."""
    shape = (*block.visible.shape, logits.shape[-1])
    _, logs = block.probabilities(logits)
    values = logits.reshape(shape).astype(np.float64) - logs[:, None]
    return np.where(block.visible[..., None], values, 0.0)


def _row_terms(target: Floats) -> Doubles:
    """Compute sum(w ln w) - m ln m for the weights w of each row's keys and their sum m, `[row, head]`."""
    weights = target.astype(np.float64)
    mass = weights.sum(1)
    terms = (weights * np.log(np.maximum(weights, _TINY))).sum(1)
    return np.asarray(terms - mass * np.log(np.maximum(mass, _TINY)))


def example_rows(
    left: Floats, to_explain: Floats, attention: Floats, log_p: Floats, block: RowBlock, documents: Integers
) -> list[ExampleRow]:
    """Return the example candidates of a block: the row predicted best, and the rows predicted worst.

    A row counts if its attention differs from uniform. For the best prediction it must differ at least as much as the
    median row of the block, because any features predict a row that attends to all keys alike.

    Args:
        left, to_explain: divergences of the rows, `[row]`.
        attention, log_p: attention, and logarithm of the predicted attention, `[row, key]`.
        block: block of rows.
        documents: number of each row's document, `[row]`.
    """
    counted = np.flatnonzero(to_explain > 10.0**-_DECIMALS)
    if not len(counted):
        return []
    enough = counted[to_explain[counted] >= np.median(to_explain[counted])]
    shares = np.round(left[enough] / to_explain[enough], _DECIMALS)
    best = int(enough[np.argmin(shares)])
    order = counted[np.argsort(-np.round(left[counted], _DECIMALS), kind="stable")].tolist()

    first: dict[int, int] = {}  # of each document
    for row in order:
        first.setdefault(int(documents[row]), row)

    worst = [row for row in list(first.values())[:MOST_WORST] if row != best]
    return [
        ExampleRow(
            prediction, int(block.rows[row]), int(documents[row]), float(left[row]), float(to_explain[row]),
            block.cells[row][visible], attention[row][visible].astype(np.float64), np.exp(log_p[row][visible]),
        )
        for prediction, row in ((BEST, best), *((WORST, row) for row in worst))
        for visible in [block.visible[row]]
    ]  # fmt: skip


def chosen_examples(candidates: Sequence[ExampleRow]) -> list[ExampleRow]:
    """Choose the examples of a head: the row predicted best, then the rows predicted worst, worst first.

    Args:
        candidates: candidates of all blocks of both halves.
    """
    best, worst = ([each for each in candidates if each.prediction == name] for name in PREDICTIONS)
    best.sort(key=lambda each: (-round(each.explained, _DECIMALS), each.row))
    worst.sort(key=lambda each: (-round(each.left, _DECIMALS), each.row))
    different: dict[int, ExampleRow] = {}
    for each in worst:
        if not best or each.row != best[0].row:
            different.setdefault(each.document, each)
    return [*best[:1], *list(different.values())[:MOST_WORST]]
